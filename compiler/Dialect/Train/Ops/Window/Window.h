//===- Window.h - Sliding windows over images -------------------*- C++ -*-===//
//
// Geometry that convolution and pooling share. Images are N x C x spatial, or
// N x spatial x C with channels last.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_WINDOW_WINDOW_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_WINDOW_WINDOW_H

#include "compiler/Dialect/Train/IR/Infer.h"

namespace mpc::train {

inline int64_t channelDim(size_t rank, bool channelsLast) {
  return channelsLast ? static_cast<int64_t>(rank) - 1 : 1;
}

/// The dimensions of an image that are neither batch nor channel.
llvm::SmallVector<int64_t> spatialDims(size_t rank, bool channelsLast);

/// The spatial extents of an image of rank 2 or more.
inline llvm::ArrayRef<int64_t> spatialExtents(llvm::ArrayRef<int64_t> image,
                                              bool channelsLast) {
  return image.slice(channelsLast ? 1 : 2, image.size() - 2);
}

llvm::SmallVector<int64_t> imageShape(int64_t batch, int64_t channels,
                                      llvm::ArrayRef<int64_t> spatial,
                                      bool channelsLast);

/// The shape of an image N x C x spatial after the change to channels last.
llvm::SmallVector<int64_t> toChannelsLast(llvm::ArrayRef<int64_t> image);

/// A sliding window, one entry per spatial dimension.
struct Window {
  llvm::ArrayRef<int64_t> kernel, strides, dilations, padsBegin, padsEnd;

  /// The window of an op (or adaptor) with the attributes of `train.conv`.
  template <typename Op>
  static Window of(Op op, llvm::ArrayRef<int64_t> kernel) {
    return {kernel, op.getStrides(), op.getDilations(), op.getPadsBegin(),
            op.getPadsEnd()};
  }

  /// Extent that the window covers, including dilation.
  int64_t reach(size_t dim) const {
    return (kernel[dim] - 1) * dilations[dim] + 1;
  }

  /// Number of elements of the kernel.
  int64_t size() const;

  /// Returns true if some element lies in two positions of the window.
  bool overlaps() const;

  /// Appends strides, dilations, pads_begin and pads_end, as the kernels of
  /// the catalog take them.
  void appendGeometry(llvm::SmallVectorImpl<int64_t> &attributes) const;
};

/// Checks conv_c3 for an image of the given spatial extents and computes the
/// spatial extents of the result.
llvm::LogicalResult slideWindow(const Window &window,
                                llvm::ArrayRef<int64_t> spatial,
                                const OpError &error,
                                llvm::SmallVectorImpl<int64_t> &result);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_WINDOW_WINDOW_H
