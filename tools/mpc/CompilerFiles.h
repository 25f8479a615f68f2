//===- CompilerFiles.h - Files that the compiler writes ---------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPILERFILES_H
#define MPC_TOOLS_MPC_COMPILERFILES_H

#include "llvm/Support/Error.h"

#include <string>

namespace mpc::tool {

/// Throws the Failure that an error of the compiler stands for, if it is one.
void check(llvm::Error error);

/// Writes `text` to `place`, whole or not at all; throws a Failure if it
/// cannot.
void writeFile(const std::string &place, const std::string &text);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPILERFILES_H
