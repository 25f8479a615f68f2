//===- Window.cpp - Sliding windows over images ---------------------------===//

#include "compiler/Dialect/Train/Ops/Window/Window.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace mpc::train;

SmallVector<int64_t> mpc::train::spatialDims(size_t rank, bool channelsLast) {
  int64_t first = channelsLast ? 1 : 2;
  int64_t count = static_cast<int64_t>(rank) - 2;
  return llvm::to_vector(llvm::seq<int64_t>(first, first + count));
}

SmallVector<int64_t> mpc::train::imageShape(int64_t batch, int64_t channels,
                                            ArrayRef<int64_t> spatial,
                                            bool channelsLast) {
  SmallVector<int64_t> shape{batch};
  if (!channelsLast)
    shape.push_back(channels);
  llvm::append_range(shape, spatial);
  if (channelsLast)
    shape.push_back(channels);
  return shape;
}

SmallVector<int64_t> mpc::train::toChannelsLast(ArrayRef<int64_t> image) {
  return imageShape(image[0], image[1], spatialExtents(image, false), true);
}

int64_t Window::size() const { return llvm::product_of(kernel); }

bool Window::overlaps() const {
  return llvm::any_of(llvm::seq<size_t>(0, kernel.size()),
                      [&](size_t dim) { return strides[dim] < reach(dim); });
}

void Window::appendGeometry(SmallVectorImpl<int64_t> &attributes) const {
  for (ArrayRef<int64_t> list : {strides, dilations, padsBegin, padsEnd})
    llvm::append_range(attributes, list);
}

/// Checks one list of the window: its length, and that its entries are at least
/// `least` and so small that the product of two fits in int64_t.
static LogicalResult checkEntries(StringRef name, ArrayRef<int64_t> entries,
                                  size_t count, int64_t least,
                                  const OpError &error) {
  if (entries.size() != count)
    return error("'", name, "' must have one entry per spatial dimension, ",
                 count, ", but has ", entries.size());
  for (int64_t entry : entries)
    if (entry < least || entry > std::numeric_limits<int32_t>::max())
      return error("'", name, "' must be at least ", least,
                   " and below 2^31, but holds ", entry);
  return success();
}

LogicalResult mpc::train::slideWindow(const Window &window,
                                      ArrayRef<int64_t> spatial,
                                      const OpError &error,
                                      SmallVectorImpl<int64_t> &result) {
  size_t count = spatial.size();
  // conv_c3
  if (failed(checkEntries("kernel_shape", window.kernel, count, 1, error)) ||
      failed(checkEntries("strides", window.strides, count, 1, error)) ||
      failed(checkEntries("dilations", window.dilations, count, 1, error)) ||
      failed(checkEntries("pads_begin", window.padsBegin, count, 0, error)) ||
      failed(checkEntries("pads_end", window.padsEnd, count, 0, error)))
    return failure();

  for (size_t dim = 0; dim < count; ++dim) {
    int64_t padded = spatial[dim] + window.padsBegin[dim] + window.padsEnd[dim];
    int64_t reach = window.reach(dim);
    if (padded < reach) // conv_c3
      return error("the window must fit into the padded image, but in spatial "
                   "dimension ",
                   dim, " it spans ", reach, " of ", padded);
    result.push_back((padded - reach) / window.strides[dim] + 1);
  }
  return success();
}
