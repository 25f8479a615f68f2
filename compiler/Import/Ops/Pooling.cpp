//===- Pooling.cpp - Import of pooling ------------------------------------===//

#include "compiler/Import/Ops/Window.h"

using namespace mlir;
using namespace mpc;

/// The image and the window that both kinds of pooling have.
static std::optional<Window> readPool(ImportedNode &node, Value &input) {
  input = node.floatInput(0);
  auto kernel = node.intsAttr("kernel_shape");
  if (node.failed())
    return std::nullopt;
  size_t rank = shapeOf(input).size();
  if (rank < 3 || rank > 4) {
    node.shapeError() << "input 0 has " << rank
                      << " dimensions; pooling over one or two spatial "
                         "dimensions is supported";
    return std::nullopt;
  }
  if (!kernel || kernel->size() != rank - 2) {
    node.error() << "attribute 'kernel_shape' must have " << rank - 2
                 << " entries";
    return std::nullopt;
  }
  for (int64_t extent : *kernel) {
    if (extent < 1 || extent > (int64_t(1) << 31) - 1) {
      node.error() << "attribute 'kernel_shape' holds " << extent
                   << "; entries must be at least 1 and below 2^31";
      return std::nullopt;
    }
  }
  return readWindow(node, input, *kernel, /*isPooling=*/true);
}

static SmallVector<NamedAttribute> windowAttributes(ImportedNode &node,
                                                    const Window &window) {
  return {node.i64s("kernel_shape", window.kernel),
          node.i64s("strides", window.strides),
          node.i64s("dilations", window.dilations),
          node.i64s("pads_begin", window.padsBegin),
          node.i64s("pads_end", window.padsEnd)};
}

static LogicalResult importMaxPool(ImportedNode &node) {
  Value input;
  auto window = readPool(node, input);
  node.intAttr("storage_order", 0); // Concerns the indices only.
  node.refuseOutput(1, "is used; indices of MaxPool are not supported");
  if (node.failed())
    return failure();
  return node.setOutput(
      0, node.emit<train::MaxPoolOp>(input, windowAttributes(node, *window)));
}

static LogicalResult importAveragePool(ImportedNode &node) {
  Value input;
  auto window = readPool(node, input);
  bool includePad = node.boolAttr("count_include_pad", false);
  if (node.failed())
    return failure();
  if (includePad && window->dimWithCeil)
    return node.shapeError()
           << "ceil_mode adds a window that is partly outside in spatial "
              "dimension "
           << *window->dimWithCeil
           << ", which is not supported with count_include_pad; pad the input";
  SmallVector<NamedAttribute> attributes = windowAttributes(node, *window);
  if (includePad)
    attributes.push_back(node.flag("count_include_pad"));
  return node.setOutput(0, node.emit<train::AveragePoolOp>(input, attributes));
}

static LogicalResult importGlobalAveragePool(ImportedNode &node) {
  Value input = node.floatInput(0);
  if (node.failed())
    return failure();
  if (shapeOf(input).size() < 3)
    return node.shapeError() << "input 0 has no spatial dimension";
  return node.setOutput(0, node.emit<train::GlobalAveragePoolOp>(input));
}

ArrayRef<OpRow> mpc::poolingOps() {
  static const OpRow rows[] = {
      {"MaxPool", 12, 1, 1, 2, importMaxPool},
      {"AveragePool", 11, 1, 1, 1, importAveragePool},
      {"GlobalAveragePool", 1, 1, 1, 1, importGlobalAveragePool},
  };
  return rows;
}
