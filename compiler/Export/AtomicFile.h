//===- AtomicFile.h - A file that appears whole or not at all ---*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_ATOMICFILE_H
#define MPC_COMPILER_EXPORT_ATOMICFILE_H

#include "compiler/Import/File/ModelError.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc {

/// Writes to a temporary file beside `path`; commit() syncs it and gives it the
/// name. Without commit the temporary file is removed and `path` is as before.
class AtomicFile {
public:
  static llvm::Expected<AtomicFile> create(llvm::StringRef path);

  AtomicFile(AtomicFile &&other);
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  llvm::Error write(llvm::ArrayRef<char> bytes);
  llvm::Error commit();

  /// For writers that want a descriptor; owned by this object.
  int descriptor() const { return fd; }
  uint64_t size() const { return written; }

private:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path(std::move(path)), temporary(std::move(temporary)), fd(fd) {}
  llvm::Error failure(llvm::StringRef what) const;

  std::string path, temporary;
  int fd;
  uint64_t written = 0;
};

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_ATOMICFILE_H
