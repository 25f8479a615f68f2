//===- Precisions.h - What a program may be computed in ---------*- C++ -*-===//
//
// Needs no LLVM: tools without a compiler know precisions, too.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_PRECISION_PRECISIONS_H
#define MPC_COMPILER_SUPPORT_PRECISION_PRECISIONS_H

#include <string_view>

namespace mpc {

/// A row of Precisions.def.
struct Precision {
  enum Fp8Layers {
    None,        ///< No layer.
    All,         ///< All that can be.
    WhereFaster, ///< Those that the target multiplies faster.
  };

  std::string_view name, wide, low, label;
  bool scalesLoss;
  Fp8Layers fp8;
  bool multipliesTf32;

  /// Returns true if tensors may be narrowed to `low`.
  constexpr bool isMixed() const { return !low.empty(); }
};

/// All precisions, those of help texts first.
inline constexpr Precision kPrecisions[] = {
#define MPC_PRECISION(Name, name, wide, low, label, scalesLoss, fp8,           \
                      multipliesTf32)                                          \
  {name, wide, low, label, scalesLoss, Precision::fp8, multipliesTf32},
#include "compiler/Support/Precision/Precisions.def"
};

/// The row of `name`; null if there is none.
constexpr const Precision *findPrecision(std::string_view name) {
  for (const Precision &row : kPrecisions)
    if (row.name == name)
      return &row;
  return nullptr;
}

/// The row of `name`, which an option check has accepted; that of fp32 for a
/// name of a later version, which a report may have.
constexpr const Precision &precisionOf(std::string_view name) {
  const Precision *found = findPrecision(name);
  return found ? *found : kPrecisions[0];
}

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_PRECISION_PRECISIONS_H
