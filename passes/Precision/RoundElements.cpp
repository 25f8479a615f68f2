//===- RoundElements.cpp - Round constants to 16 bit ----------------------===//

#include "passes/Precision/RoundElements.h"

#include "compiler/Support/HalfFloat.h"
#include "passes/ValueBlob.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <algorithm>

using namespace mlir;
using namespace mpc;

/// Clamps a finite number: a mask of the lowest f32 must stay finite, because a
/// row of -inf has no softmax.
static float clampTo(FloatType type, float value) {
  const float most = type.isBF16() ? 0x1.fep127f : 65504.0f;
  return std::isfinite(value) ? std::clamp(value, -most, most) : value;
}

static uint16_t roundTo(FloatType type, float value) {
  value = clampTo(type, value);
  return type.isBF16() ? floatToBfloat(value) : floatToHalf(value);
}

DenseFPElementsAttr mpc::clampElements(DenseFPElementsAttr elements,
                                       FloatType type) {
  return cast<DenseFPElementsAttr>(
      elements.mapValues(elements.getElementType(), [&](const APFloat &number) {
        return APFloat(clampTo(type, number.convertToFloat())).bitcastToAPInt();
      }));
}

ElementsAttr mpc::roundElements(ElementsAttr elements, FloatType type,
                                StringRef name) {
  if (auto dense = dyn_cast<DenseFPElementsAttr>(elements))
    return dense.mapValues(type, [&](const APFloat &number) {
      return APInt(16, roundTo(type, number.convertToFloat()));
    });
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *data =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  if (!data)
    return nullptr;
  auto shaped = elements.getShapedType().clone(type);
  AsmResourceBlob rounded =
      allocateValueBlob(shaped.getNumElements() * sizeof(uint16_t));
  auto *to = reinterpret_cast<uint16_t *>(rounded.getMutableData().data());
  const char *from = data->getData().data();
  for (int64_t i = 0; i < shaped.getNumElements(); ++i) {
    float value;
    std::memcpy(&value, from + i * sizeof(value), sizeof(value));
    to[i] = roundTo(type, value);
  }
  return DenseResourceElementsAttr::get(shaped, name, std::move(rounded));
}
