//===- DescribeProgram.h - What a package records ---------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_DESCRIBEPROGRAM_H
#define MPC_PASSES_DRIVER_DESCRIBEPROGRAM_H

#include "passes/Options/Options.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// The optimizer's name for a model that brings its own step.
inline constexpr llvm::StringLiteral kImportedOptimizer =
    "optimizer from the model";

/// The description of options and program that a package records.
std::vector<std::pair<std::string, std::string>>
describeProgram(const CompileOptions &options, mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_DESCRIBEPROGRAM_H
