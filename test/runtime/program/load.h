// Helpers for loading packages that may be rejected.
#ifndef MPC_TEST_RUNTIME_PROGRAM_LOAD_H_
#define MPC_TEST_RUNTIME_PROGRAM_LOAD_H_

#include "test/runtime/package.h"

namespace mpc::test {

// A change that makes a package invalid.
struct Edit {
  const char* what;  // Part of the message.
  std::function<void(program::ProgramT&)> edit;
};

inline Outcome load_edited(std::function<void(program::ProgramT&)> edit) {
  PackageOptions options;
  options.edit = std::move(edit);
  return try_load(make_package(options));
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_PROGRAM_LOAD_H_
