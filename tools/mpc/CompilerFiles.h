//===- CompilerFiles.h - Errors of the compiler as failures -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_COMPILERFILES_H
#define MPC_TOOLS_MPC_COMPILERFILES_H

#include "llvm/Support/Error.h"

namespace mpc::tool {

/// Throws the Failure that an error of the compiler stands for, if it is one.
void check(llvm::Error error);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_COMPILERFILES_H
