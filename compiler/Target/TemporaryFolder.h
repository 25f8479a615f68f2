//===- TemporaryFolder.h - Files between our tools and others ---*- C++ -*-===//
#ifndef MPC_COMPILER_TARGET_TEMPORARYFOLDER_H
#define MPC_COMPILER_TARGET_TEMPORARYFOLDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mpc {

/// A folder for what linkers and assemblers read and write, removed with its
/// files at the end. Where it has no room its errors carry an error code,
/// unlike those that are our fault.
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
