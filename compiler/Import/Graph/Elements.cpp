//===- Elements.cpp - Tensors as attributes -------------------------------===//

#include "compiler/Import/Graph/Elements.h"

#include "compiler/Support/HalfFloat.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include <limits>

using namespace mlir;
using namespace mpc;
using llvm::Expected;
using onnx::TensorProto;

constexpr int64_t kMaxInlineElements = 32;

Type mpc::elementTypeFor(int32_t dataType, FloatType floatType) {
  MLIRContext *context = floatType.getContext();
  switch (dataType) {
  case TensorProto::FLOAT:
  case TensorProto::DOUBLE:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return floatType;
  case TensorProto::INT64:
    return IntegerType::get(context, 64);
  case TensorProto::INT32:
    return IntegerType::get(context, 32);
  case TensorProto::BOOL:
    return IntegerType::get(context, 1);
  default:
    return nullptr;
  }
}

/// Calls `use(i, value)` with each element as `Element`. The bytes need not be
/// aligned.
template <typename Element, typename UseFn>
static void forEach(ArrayRef<char> bytes, UseFn use) {
  for (size_t i = 0, e = bytes.size() / sizeof(Element); i < e; ++i) {
    Element value;
    std::memcpy(&value, bytes.data() + i * sizeof(Element), sizeof(Element));
    use(i, value);
  }
}

namespace {

/// Converts the floats of `dataType` in `bytes` to `Float`.
template <typename Float>
bool convertFloats(ArrayRef<char> bytes, int32_t dataType, Float *out) {
  bool fits = true;
  switch (dataType) {
  case TensorProto::FLOAT:
    forEach<float>(bytes, [&](size_t i, float v) { out[i] = Float(v); });
    break;
  case TensorProto::DOUBLE:
    forEach<double>(bytes, [&](size_t i, double v) {
      fits &= std::isinf(v) || !std::isinf(Float(v));
      out[i] = Float(v);
    });
    break;
  case TensorProto::FLOAT16:
    forEach<uint16_t>(bytes,
                      [&](size_t i, uint16_t v) { out[i] = halfToFloat(v); });
    break;
  case TensorProto::BFLOAT16:
    forEach<uint16_t>(bytes,
                      [&](size_t i, uint16_t v) { out[i] = bfloatToFloat(v); });
    break;
  }
  return fits;
}

} // namespace

static unsigned bytesOf(Type elementType) {
  return elementType.isInteger(1) ? 1 : elementType.getIntOrFloatBitWidth() / 8;
}

/// Converts `data` to the element type `to`; shares the bytes if they already
/// have it.
static Expected<TensorBytes> convert(const TensorBytes &data, int32_t dataType,
                                     Type to) {
  unsigned size = bytesOf(to);
  bool isSame = dataTypeSize(dataType) == size &&
                dataType != TensorProto::FLOAT16 &&
                dataType != TensorProto::BFLOAT16;
  bool isAligned = reinterpret_cast<uintptr_t>(data.bytes.data()) % size == 0;
  if (isSame && isAligned)
    return data;
  size_t count = data.bytes.size() / dataTypeSize(dataType);
  // Allocated as doubles for an alignment that suits every type.
  auto storage = std::make_shared<std::vector<double>>(
      llvm::divideCeil(count * size, sizeof(double)));
  char *out = reinterpret_cast<char *>(storage->data());
  bool fits = true;
  if (isSame)
    std::memcpy(out, data.bytes.data(), count * size);
  else if (to.isF64())
    fits = convertFloats(data.bytes, dataType, reinterpret_cast<double *>(out));
  else
    fits = convertFloats(data.bytes, dataType, reinterpret_cast<float *>(out));
  if (!fits)
    return makeModelError(ModelError::Invalid,
                          "holds float64 values that are out of range for "
                          "float32");
  return TensorBytes{ArrayRef<char>(out, count * size), storage};
}

Expected<ElementsAttr> mpc::makeElements(const TensorBytes &data,
                                         int32_t dataType,
                                         RankedTensorType type,
                                         StringRef name) {
  Type elementType = type.getElementType();
  if (elementType.isInteger(1)) {
    // MLIR has its own storage format for bools.
    SmallVector<bool> bits;
    for (char byte : data.bytes)
      bits.push_back(byte != 0);
    return DenseElementsAttr::get(type, bits);
  }
  Expected<TensorBytes> converted = convert(data, dataType, elementType);
  if (!converted)
    return converted.takeError();
  if (type.getNumElements() <= kMaxInlineElements)
    return DenseElementsAttr::getFromRawBuffer(type, converted->bytes);
  AsmResourceBlob blob(
      converted->bytes, bytesOf(elementType),
      [owner = converted->owner](void *, size_t, size_t) mutable {
        owner.reset();
      },
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

std::vector<int64_t> mpc::readIntegers(const TensorBytes &data,
                                       int32_t dataType) {
  std::vector<int64_t> result;
  auto append = [&](size_t, auto value) { result.push_back(value); };
  if (dataType == TensorProto::INT64)
    forEach<int64_t>(data.bytes, append);
  else if (dataType == TensorProto::INT32)
    forEach<int32_t>(data.bytes, append);
  else if (dataType == TensorProto::BOOL)
    for (char byte : data.bytes)
      result.push_back(byte != 0);
  return result;
}

std::vector<double> mpc::readFloats(const TensorBytes &data, int32_t dataType) {
  unsigned size = dataTypeSize(dataType);
  std::vector<double> result(size ? data.bytes.size() / size : 0);
  convertFloats(data.bytes, dataType, result.data());
  return result;
}
