// Helpers for saving and loading that may fail.
#ifndef MPC_TEST_RUNTIME_CHECKPOINT_SAVE_H_
#define MPC_TEST_RUNTIME_CHECKPOINT_SAVE_H_

#include "test/runtime/package.h"

namespace mpc::test {

inline Outcome save(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_save_checkpoint(session.get(), path.c_str()));
}

inline Outcome restore(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_load_checkpoint(session.get(), path.c_str()));
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_CHECKPOINT_SAVE_H_
