//===- AmpLowering.h - Generated code for amp ops ---------------*- C++ -*-===//
//
// The ops of `amp` become generated code like those of `train`. Their lowering
// is attached as external models here, so that `amp` does not depend on
// `train`.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_AMPLOWERING_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_AMPLOWERING_H

#include "mlir/IR/DialectRegistry.h"

namespace mpc::train {

/// Gives every op of `amp` LinalgLoweringOpInterface and CostOpInterface in
/// contexts that use `registry`.
void registerAmpLowering(mlir::DialectRegistry &registry);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_AMPLOWERING_H
