//===- RoundElements.h - Constants in 16 bit --------------------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_ROUNDELEMENTS_H
#define MPC_PASSES_PRECISION_ROUNDELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mpc {

/// The f32 `elements` rounded to `type`, f16 or bf16, as amp.cast rounds, but
/// for finite numbers beyond its range, which become its largest; null if their
/// values are not in memory. What was a resource becomes one of that
/// `name`.
mlir::ElementsAttr roundElements(mlir::ElementsAttr elements,
                                 mlir::FloatType type, llvm::StringRef name);

/// The f32 `elements` with the largest numbers of `type` for finite ones
/// beyond.
mlir::DenseFPElementsAttr clampElements(mlir::DenseFPElementsAttr elements,
                                        mlir::FloatType type);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_ROUNDELEMENTS_H
