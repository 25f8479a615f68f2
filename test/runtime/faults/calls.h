// Programs and calls for fault tests.

#ifndef MPC_TEST_RUNTIME_FAULTS_CALLS_H_
#define MPC_TEST_RUNTIME_FAULTS_CALLS_H_

#include "test/runtime/package.h"

namespace mpc::test {

inline Outcome save(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_save_checkpoint(session.get(), path.c_str()));
}

// oneDNN allocates in each call, and its behaviour without memory is not tested
// here: this program has only generated code and the copy kernel.
inline Bytes package_without_library() {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    auto& matmul = *p.variants[0]->entries[2]->instructions[0];
    matmul.kernel = 10;
    matmul.attributes.clear();
    matmul.operands.erase(matmul.operands.begin());
  };
  return make_package(options);
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_FAULTS_CALLS_H_
