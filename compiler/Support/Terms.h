//===- Terms.h - What results are sums of -----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_TERMS_H
#define MPC_COMPILER_SUPPORT_TERMS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

namespace mpc {

/// How the elements of a result are made of those of operands, as far as it
/// decides what rounding errors amount to: a sum may cancel, and then is as far
/// off as its terms are.
enum class Terms {
  Other,     ///< In none of these ways.
  Moved,     ///< Elements of operands: what cancelled before is as small there.
  Scaled,    ///< Products of operands.
  Divided,   ///< Quotients of the first operand and the second.
  Centred,   ///< Products of operands, less sums of such products.
  Projected, ///< The first operand less parts of it; with more than two
             ///< operands, times the third and the last.
  Added,     ///< Sums of one element of each operand.
  Summed,    ///< Sums of many elements of the first operand.
  Averaged,  ///< The same, divided by their number.
  Contracted, ///< Sums of products of the first two operands.
};

/// As reports have it.
inline llvm::StringRef termsName(Terms terms) {
  switch (terms) {
  case Terms::Other:
    return "other";
  case Terms::Moved:
    return "moved";
  case Terms::Scaled:
    return "scaled";
  case Terms::Divided:
    return "divided";
  case Terms::Centred:
    return "centred";
  case Terms::Projected:
    return "projected";
  case Terms::Added:
    return "added";
  case Terms::Summed:
    return "summed";
  case Terms::Averaged:
    return "averaged";
  case Terms::Contracted:
    return "contracted";
  }
  llvm_unreachable("a way was added");
}

/// `Other` for a name that is not known.
inline Terms termsOf(llvm::StringRef name) {
  return llvm::StringSwitch<Terms>(name)
      .Case("moved", Terms::Moved)
      .Case("scaled", Terms::Scaled)
      .Case("divided", Terms::Divided)
      .Case("centred", Terms::Centred)
      .Case("projected", Terms::Projected)
      .Case("added", Terms::Added)
      .Case("summed", Terms::Summed)
      .Case("averaged", Terms::Averaged)
      .Case("contracted", Terms::Contracted)
      .Default(Terms::Other);
}

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_TERMS_H
