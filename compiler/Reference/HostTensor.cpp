//===- HostTensor.cpp - Tensors of the interpreter ------------------------===//

#include "compiler/Reference/HostTensor.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;
using namespace mpc::reference;

double mpc::reference::roundTo(Type element, double value) {
  if (element.isF32())
    return float(value);
  auto type = dyn_cast<FloatType>(element);
  if (!type || type.isF64())
    return value;
  APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

Element mpc::reference::wholeOf(Type type, uint64_t bits) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Element element;
  if (width == 1)
    element.whole = int64_t(bits & 1);
  else
    element.whole = int64_t(bits << (64 - width)) >> (64 - width);
  return element;
}

Element mpc::reference::elementOf(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    Element element;
    element.real = number.getValueAsDouble();
    return element;
  }
  auto integer = cast<IntegerAttr>(value);
  return wholeOf(integer.getType(), integer.getValue().getZExtValue());
}

HostTensor HostTensor::zeros(RankedTensorType type) {
  Element zero;
  zero.whole = 0; // These are also the bits of 0.0.
  return {type, std::vector<Element>(type.getNumElements(), zero)};
}

void HostTensor::fill(ArrayRef<char> bytes) {
  Type element = type.getElementType();
  const size_t size = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
  assert(bytes.size() >= elements.size() * size && "too few bytes");
  for (size_t i = 0; i < elements.size(); ++i) {
    uint64_t bits = 0;
    memcpy(&bits, bytes.data() + i * size, size);
    auto kind = dyn_cast<FloatType>(element);
    if (!kind) {
      elements[i] = wholeOf(element, bits);
      continue;
    }
    APFloat number(kind.getFloatSemantics(), APInt(kind.getWidth(), bits));
    bool losesInfo;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    elements[i].real = number.convertToDouble();
  }
}

HostTensor HostTensor::of(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getShapedType());
  HostTensor tensor = zeros(type);
  if (value.isSplat()) {
    if (!tensor.elements.empty())
      std::fill(tensor.elements.begin(), tensor.elements.end(),
                elementOf(*value.getValues<Attribute>().begin()));
    return tensor;
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    tensor.fill(resource.getRawHandle().getBlob()->getData());
    return tensor;
  }
  size_t i = 0;
  if (isa<FloatType>(value.getElementType())) {
    for (const APFloat &number : value.getValues<APFloat>()) {
      APFloat wide = number;
      bool losesInfo;
      wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
      tensor.elements[i++].real = wide.convertToDouble();
    }
  } else {
    for (const APInt &number : value.getValues<APInt>())
      tensor.elements[i++] =
          wholeOf(value.getElementType(), number.getZExtValue());
  }
  return tensor;
}
