//===- Window.cpp - Geometry of convolution and pooling -------------------===//

#include "compiler/Import/Ops/Layers/Window.h"

#include <limits>

using namespace mlir;
using namespace mpc;

constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();

/// Maximum number of positions of a window: verifiers of pooling visit each.
constexpr int64_t kMaxPositions = int64_t(1) << 24;

/// Reads a list of `count` integers of at least `low`, all `defaultValue` if it
/// is absent.
static SmallVector<int64_t> readList(ImportedNode &node, StringRef name,
                                     size_t count, int64_t low,
                                     int64_t defaultValue) {
  auto values = node.intsAttr(name);
  if (node.failed() || !values)
    return SmallVector<int64_t>(count, defaultValue);
  if (values->size() != count) {
    node.shapeError() << "attribute '" << name << "' must have " << count
                      << " entries, but has " << values->size();
    return SmallVector<int64_t>(count, defaultValue);
  }
  for (int64_t value : *values) {
    if (value >= low && value <= kMaxExtent)
      continue;
    node.error() << Fault::BadAttribute << "attribute '" << name << "' holds "
                 << value << "; entries must be at least " << low
                 << " and below 2^31";
    return SmallVector<int64_t>(count, defaultValue);
  }
  return *values;
}

bool mpc::fitsSpan(ImportedNode &node, const Window &window) {
  for (auto [i, kernel] : llvm::enumerate(window.kernel)) {
    int64_t dilation = window.dilations[i];
    if (dilation < 1 || kernel - 1 <= kMaxElements / dilation)
      continue;
    node.shapeError() << "the window spans more than 2^40 elements in spatial "
                         "dimension "
                      << i;
    return false;
  }
  return true;
}

/// Pads so that the result has ceil(extent / stride) elements.
static void padSame(Window &window, ArrayRef<int64_t> extents, bool isUpper) {
  for (auto [i, extent] : llvm::enumerate(extents)) {
    int64_t stride = window.strides[i];
    int64_t span = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t count = llvm::divideCeil(uint64_t(extent), uint64_t(stride));
    int64_t total = std::max<int64_t>((count - 1) * stride + span - extent, 0);
    int64_t smaller = total / 2, larger = total - smaller;
    window.padsBegin[i] = isUpper ? smaller : larger;
    window.padsEnd[i] = isUpper ? larger : smaller;
  }
}

std::optional<Window> mpc::readWindow(ImportedNode &node, Value input,
                                      ArrayRef<int64_t> kernel,
                                      bool isPooling) {
  std::string autoPad = node.stringAttr("auto_pad", "NOTSET");
  bool ceilMode = isPooling && node.boolAttr("ceil_mode", false);
  if (node.failed())
    return std::nullopt;
  ArrayRef<int64_t> extents = shapeOf(input).drop_front(2);
  size_t count = extents.size();
  Window window;
  window.kernel.assign(kernel.begin(), kernel.end());
  window.strides = readList(node, "strides", count, 1, 1);
  window.dilations = readList(node, "dilations", count, 1, 1);
  SmallVector<int64_t> pads = readList(node, "pads", 2 * count, 0, 0);
  window.padsBegin.assign(pads.begin(), pads.begin() + count);
  window.padsEnd.assign(pads.begin() + count, pads.end());
  if (node.failed() || !fitsSpan(node, window))
    return std::nullopt;

  bool isSame = autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER";
  if (!isSame && autoPad != "NOTSET" && autoPad != "VALID") {
    node.error() << Fault::BadAttribute << "attribute 'auto_pad' is '"
                 << autoPad
                 << "'; known are NOTSET, SAME_UPPER, SAME_LOWER and VALID";
    return std::nullopt;
  }
  bool isPadded = llvm::any_of(pads, [](int64_t pad) { return pad != 0; });
  if (autoPad != "NOTSET" && isPadded) {
    node.error() << Fault::BadAttribute
                 << "attributes 'auto_pad' and 'pads' exclude each other";
    return std::nullopt;
  }
  if (isSame)
    padSame(window, extents, autoPad == "SAME_UPPER");

  window.modelPadsEnd = window.padsEnd;
  for (size_t i = 0; i < count; ++i) {
    int64_t span = (kernel[i] - 1) * window.dilations[i] + 1;
    int64_t room = extents[i] + window.padsBegin[i] + window.padsEnd[i] - span;
    if (room < 0) {
      node.shapeError() << "the window spans " << span
                        << " elements, but spatial dimension " << i
                        << " has only " << room + span << " with its pads";
      return std::nullopt;
    }
    if (isPooling && room / window.strides[i] >= kMaxPositions) {
      node.shapeError() << "the window has more than 2^24 positions in spatial "
                           "dimension "
                        << i << ", which is not supported";
      return std::nullopt;
    }
    // A window that would begin after the image does not count.
    int64_t next = (room / window.strides[i] + 1) * window.strides[i];
    bool hasNext = room % window.strides[i] != 0 &&
                   next < extents[i] + window.padsBegin[i];
    if (!ceilMode || !hasNext)
      continue;
    // It begins inside of the image, so less than a window of padding suffices.
    window.padsEnd[i] = next + span - extents[i] - window.padsBegin[i];
    window.dimWithCeil = i;
  }
  return window;
}
