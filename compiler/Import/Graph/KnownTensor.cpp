//===- KnownTensor.cpp - Tensors that are computed at import --------------===//

#include "compiler/Import/Graph/KnownTensor.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mpc;

double mpc::roundTo(FloatType type, double value) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return double(float(value));
  APFloat number(value);
  bool lossy;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &lossy);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return number.convertToDouble();
}

int64_t mpc::wrapTo(Type integerType, int64_t value) {
  return integerType.isInteger(32) ? int64_t(int32_t(value)) : value;
}

int64_t mpc::toInteger(Type integerType, double value) {
  if (integerType.isInteger(1))
    return value != 0; // NaN is not zero.
  double limit = std::ldexp(1.0, integerType.isInteger(32) ? 31 : 63);
  bool fits = value >= -limit && value < limit;
  return fits ? int64_t(value) : wrapTo(integerType, int64_t(-limit));
}

KnownTensor KnownTensor::of(DenseElementsAttr attribute) {
  KnownTensor result;
  result.elementType = attribute.getElementType();
  llvm::append_range(result.shape, attribute.getType().getShape());
  Type type = result.elementType;
  auto fill = [&](auto &to, auto values) {
    to.assign(values.begin(), values.end());
  };
  if (type.isF64())
    fill(result.floats, attribute.getValues<double>());
  else if (type.isF32())
    fill(result.floats, attribute.getValues<float>());
  else if (type.isInteger(64))
    fill(result.ints, attribute.getValues<int64_t>());
  else if (type.isInteger(32))
    fill(result.ints, attribute.getValues<int32_t>());
  else
    fill(result.ints, attribute.getValues<bool>());
  return result;
}

/// A repeated element is stored once.
template <typename Element, typename From>
static DenseElementsAttr makeAttribute(ShapedType type,
                                       const std::vector<From> &from) {
  SmallVector<Element> elements(from.begin(), from.end());
  ArrayRef<Element> all(elements);
  // By their bits: -0 equals 0.
  auto isFirst = [&](const From &value) {
    return std::memcmp(&value, &from[0], sizeof value) == 0;
  };
  if (!all.empty() && llvm::all_of(from, isFirst))
    return DenseElementsAttr::get(type, all.take_front(1));
  return DenseElementsAttr::get(type, all);
}

DenseElementsAttr KnownTensor::attribute() const {
  auto type = RankedTensorType::get(shape, elementType);
  if (elementType.isF64())
    return makeAttribute<double>(type, floats);
  if (isFloat())
    return makeAttribute<float>(type, floats);
  if (elementType.isInteger(64))
    return makeAttribute<int64_t>(type, ints);
  if (elementType.isInteger(32))
    return makeAttribute<int32_t>(type, ints);
  return makeAttribute<bool>(type, ints);
}

SmallVector<int64_t> KnownTensor::strides() const {
  SmallVector<int64_t> result(shape.size());
  int64_t stride = 1;
  for (size_t dim = shape.size(); dim-- > 0;) {
    result[dim] = stride;
    stride *= shape[dim];
  }
  return result;
}

static int64_t countPlaces(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

KnownTensor KnownTensor::pick(ArrayRef<int64_t> wanted,
                              function_ref<int64_t(int64_t)> from) const {
  KnownTensor result;
  result.elementType = elementType;
  llvm::append_range(result.shape, wanted);
  int64_t count = countPlaces(wanted);
  auto copy = [&](auto &to, const auto &elements) {
    to.resize(count);
    for (int64_t i = 0; i < count; ++i) {
      int64_t source = from(i);
      if (source >= 0)
        to[i] = elements[source];
    }
  };
  if (isFloat())
    copy(result.floats, floats);
  else
    copy(result.ints, ints);
  return result;
}

KnownTensor KnownTensor::walk(ArrayRef<int64_t> wanted, int64_t offset,
                              ArrayRef<int64_t> steps) const {
  SmallVector<int64_t> position(wanted.size(), 0);
  int64_t source = offset;
  return pick(wanted, [&](int64_t) {
    int64_t current = source;
    for (size_t dim = wanted.size(); dim-- > 0;) {
      source += steps[dim];
      if (++position[dim] < wanted[dim])
        break;
      source -= steps[dim] * wanted[dim];
      position[dim] = 0;
    }
    return current;
  });
}

KnownTensor KnownTensor::castTo(Type type, FloatType narrow) const {
  KnownTensor to{type, shape, {}, {}};
  auto floatType = dyn_cast<FloatType>(type);
  for (int64_t i = 0, count = size(); i < count; ++i) {
    if (floatType) {
      double value = narrow ? roundTo(narrow, number(i)) : number(i);
      to.floats.push_back(roundTo(floatType, value));
    } else if (isFloat() || to.isBool()) {
      // Exporters cast numbers without an integer value where a Where does not
      // select the result.
      to.ints.push_back(toInteger(type, number(i)));
    } else {
      to.ints.push_back(wrapTo(type, ints[i]));
    }
  }
  return to;
}

KnownTensor KnownTensor::broadcastTo(ArrayRef<int64_t> wanted) const {
  if (wanted == ArrayRef(shape))
    return *this;
  SmallVector<int64_t> own = strides(), steps(wanted.size(), 0);
  size_t added = wanted.size() - shape.size();
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] != 1)
      steps[added + dim] = own[dim];
  return walk(wanted, 0, steps);
}
