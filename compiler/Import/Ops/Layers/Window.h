//===- Window.h - Geometry of convolution and pooling -----------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_OPS_LAYERS_WINDOW_H
#define MPC_COMPILER_IMPORT_OPS_LAYERS_WINDOW_H

#include "compiler/Import/Graph/ImportedNode.h"

namespace mpc {

/// One entry per spatial dimension.
struct Window {
  llvm::SmallVector<int64_t> kernel, strides, dilations, padsBegin, padsEnd;

  /// A spatial dimension to which ceil_mode added a window that is partly
  /// outside. `padsEnd` is enlarged for it beyond the model's pads.
  std::optional<size_t> dimWithCeil;
  llvm::SmallVector<int64_t> modelPadsEnd; ///< Without that enlargement.
};

/// Reads auto_pad, dilations, pads, strides and, in pooling, ceil_mode for a
/// window of extents `kernel` on the image `input` (N x C x spatial). Checks
/// that every number is small enough to compute with, and that the result is
/// not empty; nullopt after an error.
std::optional<Window> readWindow(ImportedNode &node, mlir::Value input,
                                 llvm::ArrayRef<int64_t> kernel,
                                 bool isPooling);

/// Returns true if the span of the window is small enough to compute with;
/// false after an error.
bool fitsSpan(ImportedNode &node, const Window &window);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_OPS_LAYERS_WINDOW_H
