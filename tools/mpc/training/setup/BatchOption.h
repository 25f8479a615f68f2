//===- BatchOption.h - The option --batch of a package ----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SETUP_BATCHOPTION_H
#define MPC_TOOLS_MPC_TRAINING_SETUP_BATCHOPTION_H

#include "tools/mpc/base/Runtime.h"

#include <optional>

namespace mpc::tool {

/// `--batch`: one of the batch sizes of a package that was compiled for
/// several. Absent: the first one.
struct BatchOption {
  std::optional<uint64_t> size;

  /// Adds the option to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// Throws a Failure unless the program trains with batches of this size.
  void checkProgram(const Program &program) const;

  /// The name of the entry point for this size: "step@64".
  std::string entryOf(const Program &program, const char *entry) const;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SETUP_BATCHOPTION_H
