//===- CompilerFiles.cpp - Convert compiler errors to failures ------------===//

#include "tools/mpc/base/CompilerFiles.h"

void mpc::tool::check(llvm::Error error) {
  llvm::handleAllErrors(
      std::move(error),
      [](const ModelFileError &failure) {
        throw Failure(exitCodeOf(failure.kind), failure.message);
      },
      [](const llvm::ErrorInfoBase &failure) {
        throw Failure(Error, failure.message());
      });
}
