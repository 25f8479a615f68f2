//===- ConvertArray.cpp - Convert arrays to another type ------------------===//

#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/Command.h"
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

/// The upper half of a 32-bit float.
struct Bfloat16 {
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

static float valueOf(Bfloat16 half) {
  uint32_t bits = uint32_t(half.bits) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
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
  else if (name == "bfloat16")
    use(Bfloat16());
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
  return name == "float16" || name == "bfloat16" || name == "float32" ||
         name == "float64";
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

/// Calls `use` with a value of the type that elements are stored as, and the
/// range of integers that it represents exactly.
template <typename Use> static void withTarget(mpc_dtype_t to, Use use) {
  struct Range {
    int64_t low, high;
  };
  switch (to) {
  case MPC_DTYPE_F32:
    return use(float(), Range{-(1 << 24), 1 << 24});
  case MPC_DTYPE_F64:
    return use(double(), Range{-(1ll << 53), 1ll << 53});
  case MPC_DTYPE_I64:
    return use(int64_t(), Range{INT64_MIN, INT64_MAX});
  case MPC_DTYPE_I32:
    return use(int32_t(), Range{INT32_MIN, INT32_MAX});
  case MPC_DTYPE_U8:
    return use(uint8_t(), Range{0, UINT8_MAX});
  case MPC_DTYPE_BOOL:
    return use(uint8_t(), Range{0, 1});
  default:
    return;
  }
}

/// A remark that integers are not scaled: the user must decide whether the
/// model expects scaled pixels.
static std::string remarkOn(__int128 low, __int128 high, bool areAll) {
  if (high <= 1 || low > high)
    return "";
  return std::string("; its values, ") + (areAll ? "" : "about ") +
         std::to_string(static_cast<long long>(low)) + " to " +
         std::to_string(static_cast<long long>(high)) + ", are not scaled";
}

/// Checks integers of one type. Only some are read if all of this type fit.
template <typename From>
static Conversion checkIntegers(const StoredArray &array, int64_t lowest,
                                int64_t highest, bool toFloat) {
  using Limits = std::numeric_limits<From>;
  const bool allFit = static_cast<__int128>(Limits::min()) >= lowest &&
                      static_cast<__int128>(Limits::max()) <= highest;
  constexpr uint64_t most = 1 << 24;
  const uint64_t all = array.elements.size() / sizeof(From);
  const uint64_t count = allFit ? std::min(all, toFloat ? most : 0) : all;
  __int128 low = INT64_MAX, high = INT64_MIN;
  for (uint64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, array.data() + i * sizeof(From), sizeof(From));
    __int128 wide = value;
    low = std::min(low, wide);
    high = std::max(high, wide);
    if (wide < lowest || wide > highest)
      return {"holds " + std::to_string(value), ""};
  }
  return {"", toFloat ? remarkOn(low, high, count == all) : ""};
}

Conversion mpc::tool::checkConversion(const StoredArray &array,
                                      mpc_dtype_t to) {
  Conversion result;
  bool isKnown = false;
  withType(array.dtype, [&](auto from) {
    withTarget(to, [&](auto target, auto range) {
      isKnown = true;
      using From = decltype(from);
      if constexpr (std::is_integral_v<From>)
        result =
            checkIntegers<From>(array, range.low, range.high,
                                std::is_floating_point_v<decltype(target)>);
    });
  });
  if (!isKnown)
    result.fault = "holds " + array.dtype;
  if (!result.fault.empty())
    result.fault += ", which " + numpyName(to) + " cannot hold exactly";
  return result;
}

template <typename From, typename To>
static void convertElements(const char *from, uint64_t count, char *to) {
  for (uint64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    To converted = static_cast<To>(valueOf(value));
    std::memcpy(to + i * sizeof(To), &converted, sizeof(To));
  }
}

Convert mpc::tool::findConversion(const std::string &from, mpc_dtype_t to) {
  Convert convert = nullptr;
  withType(from, [&](auto source) {
    withTarget(to, [&](auto target, auto) {
      convert = convertElements<decltype(source), decltype(target)>;
    });
  });
  return convert;
}

Convert mpc::tool::requireConversion(const StoredArray &array, mpc_dtype_t to) {
  Conversion conversion = checkConversion(array, to);
  if (!conversion.fault.empty())
    throw Failure(Usage,
                  array.path + ": '" + array.name + "' " + conversion.fault);
  return findConversion(array.dtype, to);
}

std::vector<char> mpc::tool::convertAll(const StoredArray &array,
                                        mpc_dtype_t to) {
  const uint64_t count = array.elements.size() / array.elementSize();
  std::vector<char> converted(count * mpc_dtype_size(to));
  requireConversion(array, to)(array.data(), count, converted.data());
  return converted;
}

bool mpc::tool::isZeroOrOne(const StoredArray &array) {
  bool isSo = false;
  withType(array.dtype, [&](auto element) {
    isSo = true;
    for (size_t at = 0; at < array.elements.size(); at += sizeof(element)) {
      std::memcpy(&element, array.data() + at, sizeof(element));
      isSo &= valueOf(element) == 0 || valueOf(element) == 1;
    }
  });
  return isSo;
}

bool mpc::tool::areWhole(const StoredArray &array) {
  bool isSo = false;
  withType(array.dtype, [&](auto element) {
    isSo = true;
    for (size_t at = 0; at < array.elements.size(); at += sizeof(element)) {
      std::memcpy(&element, array.data() + at, sizeof(element));
      double value = static_cast<double>(valueOf(element));
      isSo &= std::isfinite(value) && value == std::trunc(value);
    }
  });
  return isSo;
}

bool mpc::tool::isFloat(const npz::ArrayType &array) {
  return isFloatName(array.dtype);
}
