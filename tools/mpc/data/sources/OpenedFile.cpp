//===- OpenedFile.cpp - A data file ---------------------------------------===//

#include "tools/mpc/data/sources/OpenedFile.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc::tool;

OpenedFile::OpenedFile(const std::string &path) : path(path) {
  // Without O_NONBLOCK, opening a FIFO would wait.
  file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info;
  if (file < 0 || fstat(file, &info) != 0)
    fail(std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    fail("it is not a regular file");
  size = info.st_size;
}

OpenedFile::~OpenedFile() {
  if (file >= 0)
    close(file);
}

void OpenedFile::fail(const std::string &what) const {
  throw Failure(InputOutput, "cannot read '" + path + "': " + what);
}

std::vector<char> OpenedFile::read(uint64_t offset, uint64_t bytes) const {
  std::vector<char> data;
  resizeOrThrow(data, bytes, "data of '" + path + "'");
  for (uint64_t at = 0; at < bytes;) {
    ssize_t done = pread(file, data.data() + at, bytes - at,
                         static_cast<off_t>(offset + at));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      fail(done < 0 ? std::strerror(errno) : "it has been truncated");
    at += done;
  }
  return data;
}

Elements OpenedFile::take(uint64_t offset, uint64_t bytes) const {
  return bytes > memoryForArray() ? Elements::map(file, offset, bytes, path)
                                  : Elements(read(offset, bytes));
}
