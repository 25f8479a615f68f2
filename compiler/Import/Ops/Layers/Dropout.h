//===- Dropout.h - Import of dropout ----------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_LAYERS_DROPOUT_H
#define MPC_COMPILER_IMPORT_OPS_LAYERS_DROPOUT_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// Dropout, and BitmaskDropout of com.microsoft, whose mask has a format
/// internal to mpc.
mlir::LogicalResult importDropout(ImportedNode &node);

/// DropoutGrad and BitmaskDropoutGrad of com.microsoft.
mlir::LogicalResult importDropoutGrad(ImportedNode &node);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_LAYERS_DROPOUT_H
