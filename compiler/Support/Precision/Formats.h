//===- Formats.h - Number formats -------------------------------*- C++ -*-===//
//
// Does not use LLVM, so that tools without the compiler can use it, too.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_PRECISION_FORMATS_H
#define MPC_COMPILER_SUPPORT_PRECISION_FORMATS_H

#include <array>
#include <cstddef>
#include <string_view>

namespace mpc {

/// The rows of Formats.def.
enum class Format {
#define MPC_FORMAT(Name, ...) Name,
#include "compiler/Support/Precision/Formats.def"
};

/// A row of Formats.def.
struct FormatFacts {
  enum Use {
    Wide,          ///< For everything that is not narrowed.
    Product,       ///< A way to multiply operands that are stored wide.
    Tensor,        ///< Stored; the minimum cut chooses the tensors.
    Layer,         ///< Stored with a scale, for the operands of one product.
    LayerGradient, ///< The same for the gradients of such a product.
  };

  Format format;
  std::string_view name, option, type;
  Use use;
  bool scalesLoss;
  int digits;        ///< Binary digits of the significand.
  int leastExponent; ///< The exponent of the smallest normal number.
  double largest;    ///< The largest finite number.

  /// Returns true if elements have 8 bits, with one scale for a whole tensor.
  constexpr bool isFp8() const { return use == Layer || use == LayerGradient; }

  /// The smallest positive number, which is subnormal.
  constexpr double smallest() const {
    double number = 1;
    for (int i = leastExponent - digits + 1; i < 0; ++i)
      number /= 2;
    return number;
  }
};

inline constexpr FormatFacts kFormats[] = {
#define MPC_FORMAT(Name, name, option, element, type, dtype, Use, scalesLoss,  \
                   digits, least, largest)                                     \
  {Format::Name, name,   option, type,   FormatFacts::Use,                     \
   scalesLoss,   digits, least,  largest},
#include "compiler/Support/Precision/Formats.def"
};

constexpr const FormatFacts &factsOf(Format format) {
  return kFormats[size_t(format)];
}

/// The row with this name, or with this `option` if `field` is
/// `FormatFacts::option`; null if there is none.
constexpr const FormatFacts *
findFormat(std::string_view text,
           std::string_view FormatFacts::*field = &FormatFacts::name) {
  for (const FormatFacts &row : kFormats)
    if (row.*field == text && !text.empty())
      return &row;
  return nullptr;
}

/// Returns true if a tensor of the forward pass may be rounded to the format:
/// profiles record how rounding to it would change the loss.
constexpr bool isProfiled(const FormatFacts &row) {
  return row.use == FormatFacts::Tensor || row.use == FormatFacts::Layer;
}

constexpr size_t countProfiledFormats() {
  size_t count = 0;
  for (const FormatFacts &row : kFormats)
    count += isProfiled(row);
  return count;
}

/// The formats in profiles, in the order of the rows.
inline constexpr auto kProfiledFormats = [] {
  std::array<Format, countProfiledFormats()> formats{};
  size_t count = 0;
  for (const FormatFacts &row : kFormats)
    if (isProfiled(row))
      formats[count++] = row.format;
  return formats;
}();

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_PRECISION_FORMATS_H
