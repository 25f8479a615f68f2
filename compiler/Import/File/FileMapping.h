//===- FileMapping.h - Read-only view of a file -----------------*- C++ -*-===//
//
// The only place that opens files of the user's model. Uses neither MLIR nor
// ONNX.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_FILE_FILEMAPPING_H
#define MPC_COMPILER_IMPORT_FILE_FILEMAPPING_H

#include "compiler/Import/File/ModelError.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <memory>

namespace mpc {

/// A file mapped into memory; unmapped when the last owner is destroyed.
class FileMapping {
public:
  /// Maps a file that the user named; symbolic links are followed.
  static llvm::Expected<std::shared_ptr<FileMapping>>
  open(llvm::StringRef path);

  /// Maps a file that a model named: `location` is relative to `folder` and may
  /// not leave it, neither by "..", nor as an absolute path, nor through a
  /// symbolic link or a second hard link. Never blocks, whatever kind of file
  /// it is. `partByPart` is for tests: it uses the fallback for Linux kernels
  /// without openat2.
  static llvm::Expected<std::shared_ptr<FileMapping>>
  openBelow(llvm::StringRef folder, llvm::StringRef location,
            bool partByPart = false);

  FileMapping(const FileMapping &) = delete;
  FileMapping &operator=(const FileMapping &) = delete;
  ~FileMapping();

  llvm::ArrayRef<char> bytes() const { return {data, size}; }

  /// Gives the memory of the whole pages in [begin, end) back to the system.
  /// The bytes stay valid: they are read from the file again when needed.
  void releasePages(size_t begin, size_t end) const;

private:
  FileMapping(const char *data, size_t size) : data(data), size(size) {}
  static llvm::Expected<std::shared_ptr<FileMapping>>
  map(int descriptor, llvm::StringRef shownName, bool refuseHardLinks);

  const char *const data;
  const size_t size;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_FILEMAPPING_H
