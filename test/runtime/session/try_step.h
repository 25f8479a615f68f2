// Helper for a step that may fail.
#ifndef MPC_TEST_RUNTIME_SESSION_TRY_STEP_H_
#define MPC_TEST_RUNTIME_SESSION_TRY_STEP_H_

#include "test/runtime/package.h"

namespace mpc::test {

inline Outcome try_step(const SessionPtr& session, const Batch& batch,
                        size_t num_inputs = 2) {
  return take(
      mpc_session_step(session.get(), batch.tensors, num_inputs, nullptr));
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_SESSION_TRY_STEP_H_
