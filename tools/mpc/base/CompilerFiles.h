//===- CompilerFiles.h - Convert compiler errors to failures ----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_COMPILERFILES_H
#define MPC_TOOLS_MPC_BASE_COMPILERFILES_H

#include "tools/ExitCodes.h"
#include "tools/mpc/Command.h"

#include "llvm/Support/Error.h"

namespace mpc::tool {

/// Throws a Failure if `error` is an error.
void check(llvm::Error error);

/// The exit code for an error of the compiler.
inline ExitCode exitCodeOf(ModelError error) {
  return static_cast<ExitCode>(exitCode(error));
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_COMPILERFILES_H
