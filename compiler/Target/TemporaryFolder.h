//===- TemporaryFolder.h - Files for external tools -------------*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_TEMPORARYFOLDER_H
#define MPC_COMPILER_TARGET_TEMPORARYFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mpc {

/// A folder for the input and output of linkers and assemblers, which is
/// removed with its files at the end. Its errors carry an error code, such as
/// for a full disk; an error without one is a bug of mpc.
class TemporaryFolder {
public:
  static llvm::Expected<TemporaryFolder> create(llvm::StringRef prefix);
  TemporaryFolder(TemporaryFolder &&other);
  TemporaryFolder &operator=(TemporaryFolder &&) = delete;
  ~TemporaryFolder();

  std::string pathOf(llvm::StringRef name) const;
  llvm::Error write(llvm::StringRef name, llvm::StringRef bytes) const;
  llvm::Expected<std::string> read(llvm::StringRef name) const;

private:
  explicit TemporaryFolder(std::string path) : path(std::move(path)) {}

  std::string path; ///< Empty after a move.
};

} // namespace mpc

#endif // MPC_COMPILER_TARGET_TEMPORARYFOLDER_H
