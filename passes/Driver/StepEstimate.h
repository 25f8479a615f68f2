//===- StepEstimate.h - Narrow formats against f32 --------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_STEPESTIMATE_H
#define MPC_PASSES_DRIVER_STEPESTIMATE_H

#include "compiler/Support/Machine/Machine.h"
#include "passes/Options/Options.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace mpc {

/// The estimated time of an update of the weights (of a prediction, if the
/// model only predicts), as planned and with the same program in f32.
struct StepEstimate {
  double narrow = 0, wide = 0; ///< Nanoseconds.
  bool isTraining = true;      ///< False: of a prediction.

  /// Returns true if narrow formats save more time than estimates are good for.
  bool isFaster() const;

  /// Returns true if the time in narrow formats matters to nobody.
  bool isShort() const;

  /// "a step takes an estimated 1.2 ms in bf16 and 1.1 ms in fp32 on an H100".
  std::string text(llvm::StringRef narrowName, const Machine &machine) const;
};

/// Estimates from kKernelReportAttr of a planned program; nothing if it
/// computes nothing. An update has `batches` micro-batches.
std::optional<StepEstimate> estimateStep(llvm::StringRef kernelReport,
                                         const Machine &machine,
                                         uint64_t batches);

/// Returns true if options ask for narrow formats in particular, so that a
/// program in f32 would not follow them.
bool requiresNarrow(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_STEPESTIMATE_H
