//===- ConvertArray.cpp - Convert arrays to another type ------------------===//

#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

using namespace mpc::tool;

std::string mpc::tool::numpyName(mpc_dtype_t dtype) {
  switch (dtype) {
  case MPC_DTYPE_F32:
    return "float32";
  case MPC_DTYPE_F16:
    return "float16";
  case MPC_DTYPE_F64:
    return "float64";
  case MPC_DTYPE_I64:
    return "int64";
  case MPC_DTYPE_I32:
    return "int32";
  case MPC_DTYPE_U8:
    return "uint8";
  case MPC_DTYPE_BOOL:
    return "bool";
  default:
    return "";
  }
}

namespace {
/// The 16-bit float of IEEE 754.
struct Half {
  uint16_t bits;
};
} // namespace

static double valueOf(Half half) {
  int exponent = half.bits >> 10 & 0x1f, fraction = half.bits & 0x3ff;
  double value = exponent == 0x1f ? (fraction ? NAN : INFINITY)
                 : exponent == 0  ? std::ldexp(fraction, -24)
                                  : std::ldexp(fraction | 0x400, exponent - 25);
  return half.bits & 0x8000 ? -value : value;
}

template <typename T> static T valueOf(T value) { return value; }

/// Calls `use` with a value of the type that NumPy calls `name`, if it is a
/// numeric or boolean type.
template <typename Use> static void withType(const std::string &name, Use use) {
  if (name == "float64")
    use(double());
  else if (name == "float32")
    use(float());
  else if (name == "float16")
    use(Half());
  else if (name == "int64")
    use(int64_t());
  else if (name == "int32")
    use(int32_t());
  else if (name == "int16")
    use(int16_t());
  else if (name == "int8")
    use(int8_t());
  else if (name == "uint64")
    use(uint64_t());
  else if (name == "uint32")
    use(uint32_t());
  else if (name == "uint16")
    use(uint16_t());
  else if (name == "uint8" || name == "bool")
    use(uint8_t());
}

static bool isFloatName(const std::string &name) {
  return name == "float16" || name == "float32" || name == "float64";
}

bool mpc::tool::mayConvert(const std::string &from, mpc_dtype_t to) {
  bool isKnown = false;
  withType(from, [&](auto) { isKnown = true; });
  switch (to) {
  case MPC_DTYPE_F32:
  case MPC_DTYPE_F64:
    return isKnown;
  case MPC_DTYPE_I64:
  case MPC_DTYPE_I32:
  case MPC_DTYPE_U8:
  case MPC_DTYPE_BOOL:
    return isKnown && !isFloatName(from);
  default:
    return false;
  }
}

namespace {
/// The range of integers that a type represents exactly.
struct Limits {
  __int128 low, high;
};

/// Converts elements from one type to another.
template <typename From, typename To> class Converter {
public:
  Converter(mpc::npz::Array &array, Limits limits)
      : array(array), limits(limits) {}

  Conversion run() {
    size_t count = array.data.size() / sizeof(From);
    std::vector<char> converted(count * sizeof(To));
    for (size_t i = 0; i < count; ++i) {
      From from;
      std::memcpy(&from, array.data.data() + i * sizeof(From), sizeof(From));
      auto value = valueOf(from);
      if constexpr (std::is_integral_v<From>)
        if (!check(value))
          return {fault, ""};
      To to = static_cast<To>(value);
      std::memcpy(converted.data() + i * sizeof(To), &to, sizeof(To));
    }
    array.data = std::move(converted);
    return {"", remark()};
  }

private:
  template <typename Value> bool check(Value value) {
    __int128 wide = static_cast<__int128>(value);
    low = std::min(low, wide);
    high = std::max(high, wide);
    if (wide >= limits.low && wide <= limits.high)
      return true;
    fault = "holds " + std::to_string(value);
    return false;
  }

  /// A remark that integers are not scaled: the user must decide whether the
  /// model expects scaled pixels.
  std::string remark() const {
    if (!std::is_integral_v<From> || !std::is_floating_point_v<To> ||
        high <= 1 || low > high)
      return "";
    return "; its values, " + std::to_string(static_cast<long long>(low)) +
           " to " + std::to_string(static_cast<long long>(high)) +
           ", are not scaled";
  }

  mpc::npz::Array &array;
  const Limits limits;
  __int128 low = std::numeric_limits<int64_t>::max(),
           high = std::numeric_limits<int64_t>::min();
  std::string fault;
};
} // namespace

Conversion mpc::tool::convertArray(npz::Array &array, mpc_dtype_t to) {
  Conversion result;
  withType(array.dtype, [&](auto from) {
    using From = decltype(from);
    switch (to) {
    case MPC_DTYPE_F32:
      result = Converter<From, float>(array, {-(1 << 24), 1 << 24}).run();
      break;
    case MPC_DTYPE_F64:
      result = Converter<From, double>(array, {-(1ll << 53), 1ll << 53}).run();
      break;
    case MPC_DTYPE_I64:
      result = Converter<From, int64_t>(array, {INT64_MIN, INT64_MAX}).run();
      break;
    case MPC_DTYPE_I32:
      result = Converter<From, int32_t>(array, {INT32_MIN, INT32_MAX}).run();
      break;
    case MPC_DTYPE_U8:
      result = Converter<From, uint8_t>(array, {0, UINT8_MAX}).run();
      break;
    case MPC_DTYPE_BOOL:
      result = Converter<From, uint8_t>(array, {0, 1}).run();
      break;
    default:
      result.fault = "holds " + array.dtype;
    }
  });
  if (result.fault.empty())
    array.dtype = numpyName(to);
  else
    result.fault += ", which " + numpyName(to) + " cannot hold exactly";
  return result;
}

bool mpc::tool::isZeroOrOne(const npz::Array &array) {
  bool isSo = false;
  withType(array.dtype, [&](auto element) {
    isSo = true;
    for (size_t at = 0; at < array.data.size(); at += sizeof(element)) {
      std::memcpy(&element, array.data.data() + at, sizeof(element));
      isSo &= valueOf(element) == 0 || valueOf(element) == 1;
    }
  });
  return isSo;
}

bool mpc::tool::areWhole(const npz::Array &array) {
  bool isSo = false;
  withType(array.dtype, [&](auto element) {
    isSo = true;
    for (size_t at = 0; at < array.data.size(); at += sizeof(element)) {
      std::memcpy(&element, array.data.data() + at, sizeof(element));
      double value = static_cast<double>(valueOf(element));
      isSo &= std::isfinite(value) && value == std::trunc(value);
    }
  });
  return isSo;
}

bool mpc::tool::isFloat(const npz::Array &array) {
  return isFloatName(array.dtype);
}
