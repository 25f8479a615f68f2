//===- AtomicFile.cpp - A file that is written atomically -----------------===//

#include "compiler/Export/AtomicFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;
using namespace mpc;

Error AtomicFile::failure(StringRef what) const {
  return makeModelError(ModelError::Io, Twine("cannot ") + what + " '" + path +
                                            "': " + std::strerror(errno));
}

Expected<AtomicFile> AtomicFile::create(StringRef path) {
  SmallString<256> temporary;
  int fd = -1;
  if (std::error_code code =
          sys::fs::createUniqueFile(path + ".tmp-%%%%%%", fd, temporary))
    return makeModelError(ModelError::Io,
                          "cannot create '" + path + "': " + code.message());
  return AtomicFile(path.str(), temporary.str().str(), fd);
}

AtomicFile::AtomicFile(AtomicFile &&other)
    : path(std::move(other.path)), temporary(std::move(other.temporary)),
      fd(other.fd), written(other.written) {
  other.fd = -1;
  other.temporary.clear();
}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

Error AtomicFile::write(ArrayRef<char> bytes) {
  while (!bytes.empty()) {
    ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failure("write");
    bytes = bytes.drop_front(count);
    written += count;
  }
  return Error::success();
}

Error AtomicFile::commit() {
  if (fsync(fd) != 0)
    return failure("sync");
  int closing = fd;
  fd = -1;
  if (::close(closing) != 0)
    return failure("close");
  if (std::rename(temporary.c_str(), path.c_str()) != 0)
    return failure("rename to");
  temporary.clear();
  // The new name is durable only after the folder is synced, too.
  std::string folder = sys::path::parent_path(path).str();
  int folderFd = ::open(folder.empty() ? "." : folder.c_str(),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folderFd < 0)
    return failure("sync the folder of");
  int status = fsync(folderFd);
  int code = errno;
  ::close(folderFd);
  errno = code;
  // Some file systems cannot sync a folder and return EINVAL.
  return status == 0 || code == EINVAL ? Error::success()
                                       : failure("sync the folder of");
}

AtomicFileStream::~AtomicFileStream() {
  flush();
  consumeError(std::move(first));
}

void AtomicFileStream::write_impl(const char *data, size_t size) {
  if (!first)
    first = file.write({data, size});
}

Error AtomicFileStream::finish() {
  flush();
  return std::exchange(first, Error::success());
}
