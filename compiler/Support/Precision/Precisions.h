//===- Precisions.h - Precisions of a program -------------------*- C++ -*-===//
//
// Does not use LLVM, so that tools without the compiler can use it, too.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_PRECISION_PRECISIONS_H
#define MPC_COMPILER_SUPPORT_PRECISION_PRECISIONS_H

#include "compiler/Support/Precision/Formats.h"

#include <optional>
#include <string_view>

namespace mpc {

/// A row of Precisions.def.
struct Precision {
  enum Fp8Layers {
    NoLayer,     ///< No layer.
    AllLayers,   ///< All that can be FP8.
    WhereFaster, ///< Those that the target computes faster in FP8.
  };

  std::string_view name;
  Format wide;
  std::optional<Format> tensors, products;
  Fp8Layers layers;
  /// The 8-bit formats of layers: of weights and activations, and of gradients.
  std::optional<Format> forward, backward;
  std::string_view label;

  /// Returns true if tensors may be narrowed.
  constexpr bool isMixed() const { return tensors.has_value(); }

  /// Returns true if small gradients need a loss scale.
  constexpr bool scalesLoss() const {
    return tensors && factsOf(*tensors).scalesLoss;
  }

  /// Returns true if products of wide operands are multiplied in TF32.
  constexpr bool multipliesTf32() const { return products == Format::Tf32; }

  /// Returns true if some layer may be FP8.
  constexpr bool hasFp8() const { return layers != NoLayer; }
};

/// The names that the rows use.
namespace formats {
inline constexpr std::nullopt_t None = std::nullopt;
#define MPC_FORMAT(Name, ...) inline constexpr Format Name = Format::Name;
#include "compiler/Support/Precision/Formats.def"
} // namespace formats

/// All precisions; those in help texts come first.
inline constexpr Precision kPrecisions[] = {
#define MPC_PRECISION(Name, name, wide, tensors, products, layers, forward,    \
                      backward, label)                                         \
  {name,                                                                       \
   formats::wide,                                                              \
   formats::tensors,                                                           \
   formats::products,                                                          \
   Precision::layers,                                                          \
   formats::forward,                                                           \
   formats::backward,                                                          \
   label},
#include "compiler/Support/Precision/Precisions.def"
};

/// The row of `name`; null if there is none.
constexpr const Precision *findPrecision(std::string_view name) {
  for (const Precision &row : kPrecisions)
    if (row.name == name)
      return &row;
  return nullptr;
}

/// The row of `name`, which the check of options has accepted. A report may
/// contain the name of a later version's precision: returns the row of fp32 for
/// it.
constexpr const Precision &precisionOf(std::string_view name) {
  const Precision *found = findPrecision(name);
  return found ? *found : kPrecisions[0];
}

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_PRECISION_PRECISIONS_H
