//===- CompilerFiles.h - Errors of the compiler as failures -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_COMPILERFILES_H
#define MPC_TOOLS_MPC_BASE_COMPILERFILES_H

#include "tools/ExitCodes.h"
#include "tools/mpc/Command.h"

#include "llvm/Support/Error.h"

namespace mpc::tool {

/// Throws the Failure that an error of the compiler stands for, if it is one.
void check(llvm::Error error);

/// What the process returns for a failure of the compiler.
inline ExitCode exitCodeOf(ModelError error) {
  return static_cast<ExitCode>(exitCode(error));
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_COMPILERFILES_H
