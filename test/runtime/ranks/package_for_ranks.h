// A test package for several ranks.
#ifndef MPC_TEST_RUNTIME_RANKS_PACKAGE_FOR_RANKS_H_
#define MPC_TEST_RUNTIME_RANKS_PACKAGE_FOR_RANKS_H_

#include <memory>

#include "test/runtime/package.h"

namespace mpc::test {

// It adds gradients up, and an update takes at most `accumulate` batches of
// each rank.
inline PackageOptions for_ranks(uint32_t accumulate) {
  PackageOptions options;
  options.accumulate = accumulate;
  options.loss_scaling = false;
  options.guarded = true;
  options.edit = [](program::ProgramT& program) {
    for (const char* name : {"incomplete-updates", "data-parallel"}) {
      auto option = std::make_unique<program::OptionT>();
      option->name = name;
      option->value = "weighted";
      program.options.push_back(std::move(option));
    }
  };
  return options;
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_RANKS_PACKAGE_FOR_RANKS_H_
