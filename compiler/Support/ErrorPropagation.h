//===- Terms.h - How results are made of operands ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_TERMS_H
#define MPC_COMPILER_SUPPORT_TERMS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

namespace mpc {

/// How the elements of a result are computed from those of the operands. It
/// decides how rounding errors propagate: a sum may cancel, and its absolute
/// error is then as large as that of its terms.
enum class Terms {
  Other,      ///< None of the ways below.
  Moved,      ///< Elements of operands: cancelled sums stay as small.
  Scaled,     ///< Products of operands.
  Divided,    ///< Quotients of the first operand and the second.
  Centred,    ///< Products of operands minus sums of such products.
  Projected,  ///< The first operand minus parts of it; with more than two
              ///< operands, times the third and the last.
  Added,      ///< Sums of one element of each operand.
  Summed,     ///< Sums of many elements of the first operand.
  Averaged,   ///< Such sums, divided by the number of elements.
  Contracted, ///< Sums of products of the first two operands.
};

/// The name in reports.
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

/// Returns `Other` for an unknown name.
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
