//===- ErrorPropagation.h - How rounding errors propagate -------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_ERRORPROPAGATION_H
#define MPC_COMPILER_SUPPORT_ERRORPROPAGATION_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

namespace mpc {

/// How the elements of a result are computed from those of the operands. It
/// decides how rounding errors propagate: a sum may cancel, and its absolute
/// error is then as large as that of its terms.
enum class ErrorPropagation {
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
inline llvm::StringRef errorPropagationName(ErrorPropagation terms) {
  switch (terms) {
  case ErrorPropagation::Other:
    return "other";
  case ErrorPropagation::Moved:
    return "moved";
  case ErrorPropagation::Scaled:
    return "scaled";
  case ErrorPropagation::Divided:
    return "divided";
  case ErrorPropagation::Centred:
    return "centred";
  case ErrorPropagation::Projected:
    return "projected";
  case ErrorPropagation::Added:
    return "added";
  case ErrorPropagation::Summed:
    return "summed";
  case ErrorPropagation::Averaged:
    return "averaged";
  case ErrorPropagation::Contracted:
    return "contracted";
  }
  llvm_unreachable("a way was added");
}

/// Returns `Other` for an unknown name.
inline ErrorPropagation parseErrorPropagation(llvm::StringRef name) {
  return llvm::StringSwitch<ErrorPropagation>(name)
      .Case("moved", ErrorPropagation::Moved)
      .Case("scaled", ErrorPropagation::Scaled)
      .Case("divided", ErrorPropagation::Divided)
      .Case("centred", ErrorPropagation::Centred)
      .Case("projected", ErrorPropagation::Projected)
      .Case("added", ErrorPropagation::Added)
      .Case("summed", ErrorPropagation::Summed)
      .Case("averaged", ErrorPropagation::Averaged)
      .Case("contracted", ErrorPropagation::Contracted)
      .Default(ErrorPropagation::Other);
}

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_ERRORPROPAGATION_H
