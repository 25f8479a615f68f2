//===- CompilerFiles.cpp - Errors of the compiler as failures -------------===//

#include "tools/mpc/CompilerFiles.h"
#include "tools/mpc/Command.h"

#include "compiler/Import/ModelError.h"

void mpc::tool::check(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [](const ModelFileError &failure) {
        throw Failure(static_cast<ExitCode>(exitCode(failure.kind)),
                      failure.message);
      },
      [](const llvm::ErrorInfoBase &failure) {
        throw Failure(Error, failure.message());
      });
}
