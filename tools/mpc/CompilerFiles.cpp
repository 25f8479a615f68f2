//===- CompilerFiles.cpp - Files that the compiler writes -----------------===//

#include "tools/mpc/CompilerFiles.h"
#include "tools/mpc/Command.h"

#include "compiler/Export/AtomicFile.h"
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

void mpc::tool::writeFile(const std::string &place, const std::string &text) {
  llvm::Expected<AtomicFile> file = AtomicFile::create(place);
  if (!file)
    check(file.takeError());
  check(file->write(llvm::ArrayRef<char>(text.data(), text.size())));
  check(file->commit());
}
