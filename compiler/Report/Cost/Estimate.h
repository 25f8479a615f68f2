//===- Estimate.h - Estimated times of instructions -------------*- C++ -*-===//
//
// Estimates the time of every instruction from a report and the rates of a
// machine, without running anything: see mpc::timeOf.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_COST_ESTIMATE_H
#define MPC_COMPILER_REPORT_COST_ESTIMATE_H

#include "compiler/Report/Model/Data.h"
#include "compiler/Support/Machine/Machine.h"

namespace mpc::report {

/// What takes most of the time of an instruction.
enum class Limit { Arithmetic, Memory, Launch };
llvm::StringRef nameOf(Limit limit);

/// Whether a program is estimated with its formats, or as if it had none
/// narrower than f32.
enum class Formats { Chosen, Wide };

/// An instruction, and its cost in one call of an entry point.
struct InstructionEstimate {
  const Instruction *instruction = nullptr;
  uint64_t launches = 0;
  Work work;     ///< The work of one launch.
  WorkTime time; ///< The time of one launch.

  double nanoseconds() const { return double(launches) * time.sum(); }
  Limit limit() const;
};

/// The cost of one call of an entry point, in nanoseconds.
struct EntryEstimate {
  std::string entry;
  std::vector<InstructionEstimate> rows; ///< The longest first.
  uint64_t launches = 0;
  double flops = 0, bytes = 0, nanoseconds = 0;
  double limitedBy[3] = {}; ///< The parts of `nanoseconds`, by Limit.
  /// What no program with the same products can be faster than: the time of
  /// their arithmetic, or of reading inputs and states and writing states once.
  double bound = 0;
};

EntryEstimate estimateEntry(const Device &device, const Device::Entry &entry,
                            const Machine &machine,
                            Formats formats = Formats::Chosen);

/// The nanoseconds of each instruction of an entry point, in their order;
/// nothing if the report does not say in which order they run.
std::vector<double> courseOf(const Device &device, const Device::Entry &entry,
                             const Machine &machine);

/// The nanoseconds of one update of the weights with `batches` micro-batches,
/// or of a prediction, if the program only predicts; nothing if the report has
/// no costs.
std::optional<double> estimateStep(const Device &device, const Machine &machine,
                                   uint64_t batches,
                                   Formats formats = Formats::Chosen);

/// The rates that the report states for a device; nothing if there are none.
std::optional<Machine> machineOf(const Device &device);

/// "12.3 ms".
std::string inTime(double nanoseconds);
/// "12.3 %".
std::string percent(double part, double whole);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_COST_ESTIMATE_H
