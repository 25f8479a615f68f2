//===- AtomicFile.h - A file that is written atomically ---------*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_ATOMICFILE_H
#define MPC_COMPILER_EXPORT_ATOMICFILE_H

#include "compiler/Import/File/ModelError.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace mpc {

/// Writes to a temporary file beside `path`; commit() syncs it and renames it
/// to `path`. Without commit() the temporary file is removed and `path` is
/// unchanged.
class AtomicFile {
public:
  static llvm::Expected<AtomicFile> create(llvm::StringRef path);

  AtomicFile(AtomicFile &&other);
  AtomicFile &operator=(AtomicFile &&) = delete;
  ~AtomicFile();

  llvm::Error write(llvm::ArrayRef<char> bytes);
  llvm::Error commit();

  /// The file descriptor, for writers that need one; owned by this object.
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

/// Buffered output to an AtomicFile. After an error it drops what is written to
/// it; the caller has to ask for the error after the last flush.
class AtomicFileStream : public llvm::raw_ostream {
public:
  explicit AtomicFileStream(AtomicFile &file) : file(file) { SetBuffered(); }
  ~AtomicFileStream() override;

  /// Flushes. Returns the first error of all writes.
  llvm::Error finish();

private:
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return file.size(); }

  AtomicFile &file;
  llvm::Error first = llvm::Error::success();
};

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_ATOMICFILE_H
