//===- RoundElements.h - Round constants to 16 bit --------------*- C++ -*-===//
#ifndef MPC_PASSES_PRECISION_ROUNDELEMENTS_H
#define MPC_PASSES_PRECISION_ROUNDELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mpc {

/// The f32 `elements` rounded to `type`, f16 or bf16, as amp.cast rounds,
/// except that finite numbers beyond the range of `type` become its largest
/// number. Null if the values are not in memory. A resource becomes a resource
/// called `name`.
mlir::ElementsAttr roundElements(mlir::ElementsAttr elements,
                                 mlir::FloatType type, llvm::StringRef name);

/// The f32 `elements`, with finite numbers clamped to the range of `type`.
mlir::DenseFPElementsAttr clampElements(mlir::DenseFPElementsAttr elements,
                                        mlir::FloatType type);

} // namespace mpc

#endif // MPC_PASSES_PRECISION_ROUNDELEMENTS_H
