//===- Nearest.h - Suggestions for mistyped names ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_NEAREST_H
#define MPC_COMPILER_SUPPORT_USERINPUT_NEAREST_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc {

/// Lists the `names` that a regular expression (or name) was probably meant to
/// match, for the end of a message: "; similar names: 'a', 'b' and 'c'". At
/// most three distinct names, the nearest first; "" if no name is similar.
std::string describeNearest(llvm::StringRef pattern,
                            llvm::ArrayRef<llvm::StringRef> names);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_NEAREST_H
