//===- Elements.cpp - The bytes of an array -------------------------------===//

#include "tools/mpc/data/Elements.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

using namespace mpc::tool;

//===----------------------------------------------------------------------===//
// Mapped files
//===----------------------------------------------------------------------===//

/// Reading a page of a mapped file fails with SIGBUS if the file has become
/// shorter, or the disk fails.
static void explainBusError(int) {
  static constexpr char text[] =
      "mpc: error: a data file was truncated while it was in use, or its disk "
      "failed\n";
  (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
  _exit(InputOutput);
}

Elements::Elements(std::vector<char> bytes) : length(bytes.size()) {
  auto shared = std::make_shared<std::vector<char>>(std::move(bytes));
  begin = shared->data();
  owner = std::move(shared);
}

Elements Elements::borrow(const void *bytes, uint64_t size) {
  Elements elements;
  elements.begin = static_cast<const char *>(bytes);
  elements.length = size;
  return elements;
}

/// A mapped file.
struct Elements::Mapping {
  Mapping(int file, uint64_t offset, uint64_t size, const std::string &path)
      : path(path), offset(offset) {
    // A mapping begins at a page.
    uint64_t page = sysconf(_SC_PAGESIZE);
    before = offset % page;
    bytes = before + size;
    this->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
    address = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file,
                   static_cast<off_t>(offset - before));
    if (this->file < 0 || address == MAP_FAILED)
      fail("map", std::strerror(errno));
    // Without this, the kernel would read much more than a row.
    (void)posix_fadvise(this->file, 0, 0, POSIX_FADV_RANDOM);
    (void)madvise(address, bytes, MADV_SEQUENTIAL);
  }
  ~Mapping() {
    if (address != MAP_FAILED)
      munmap(address, bytes);
    if (file >= 0)
      close(file);
  }

  [[noreturn]] void fail(const char *what, const char *why) const {
    throw Failure(InputOutput,
                  std::string("cannot ") + what + " '" + path + "': " + why);
  }

  const std::string path;
  const uint64_t offset; ///< Where the elements begin in the file.
  uint64_t before = 0, bytes = 0;
  int file = -1;
  void *address = MAP_FAILED;
};

Elements Elements::map(int file, uint64_t offset, uint64_t size,
                       const std::string &path) {
  if (explains)
    std::signal(SIGBUS, explainBusError);
  Elements elements;
  if (size == 0)
    return elements;
  auto mapping = std::make_shared<const Mapping>(file, offset, size, path);
  elements.mapping = mapping.get();
  elements.begin =
      static_cast<const char *>(mapping->address) + mapping->before;
  elements.length = size;
  elements.owner = std::move(mapping);
  return elements;
}

Elements Elements::from(uint64_t offset) const {
  Elements rest = *this;
  rest.begin += offset;
  rest.length -= offset;
  rest.skipped += offset;
  return rest;
}

const char *Elements::part(uint64_t offset, uint64_t size,
                           std::vector<char> &buffer) const {
  if (!mapping)
    return begin + offset;
  buffer.resize(size);
  for (uint64_t at = 0; at < size;) {
    ssize_t done =
        pread(mapping->file, buffer.data() + at, size - at,
              static_cast<off_t>(mapping->offset + skipped + offset + at));
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      mapping->fail("read",
                    done < 0 ? std::strerror(errno) : "it has been truncated");
    at += done;
  }
  return buffer.data();
}

/// This is only advice: it may fail.
void Elements::prefetch(uint64_t offset, uint64_t size) const {
  if (mapping)
    (void)posix_fadvise(mapping->file,
                        static_cast<off_t>(mapping->offset + skipped + offset),
                        static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The number in the first line of a file that begins with `key`; otherwise
/// the largest number.
static uint64_t readNumber(const char *path, const std::string &key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0 && line.size() > key.size()) {
      char *end;
      uint64_t value = std::strtoull(line.c_str() + key.size(), &end, 10);
      return end == line.c_str() + key.size() ? UINT64_MAX : value;
    }
  return UINT64_MAX;
}

uint64_t mpc::tool::memoryForArray() {
  if (const char *text = std::getenv("MPC_DATA_MEMORY")) {
    char *end;
    uint64_t bytes = std::strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0' || *text == '-')
      throw Failure(Usage, std::string("MPC_DATA_MEMORY='") + text +
                               "' must be a number of bytes");
    return bytes;
  }
  uint64_t kilobytes = readNumber("/proc/meminfo", "MemAvailable:");
  uint64_t available =
      kilobytes > UINT64_MAX / 1024 ? UINT64_MAX : kilobytes * 1024;
  // The limits of the control group, of version 2 and 1.
  for (const char *path : {"/sys/fs/cgroup/memory.max",
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    available = std::min(available, readNumber(path, ""));
  return available / 4;
}

//===----------------------------------------------------------------------===//
// ElementsBuilder
//===----------------------------------------------------------------------===//

/// /var/tmp rather than /tmp, which may be in memory.
static std::string temporaryFolder() {
  const char *folder = std::getenv("TMPDIR");
  return folder && *folder ? folder : "/var/tmp";
}

ElementsBuilder::ElementsBuilder(std::string what)
    : what(std::move(what)), limit(memoryForArray()) {}

ElementsBuilder::~ElementsBuilder() {
  if (file >= 0)
    close(file);
}

void ElementsBuilder::append(const void *bytes, size_t size) {
  const char *from = static_cast<const char *>(bytes);
  try {
    buffer.insert(buffer.end(), from, from + size);
  } catch (const std::bad_alloc &) {
    throw Failure(Limit, "out of memory for " + what);
  }
  constexpr uint64_t chunk = 16 << 20;
  if (file >= 0 ? buffer.size() >= chunk : buffer.size() > limit)
    flush();
}

/// Moves the buffer to the file.
void ElementsBuilder::flush() {
  std::string folder = temporaryFolder();
  auto fail = [&] {
    throw Failure(InputOutput, "cannot write " + what +
                                   ", which does not fit in memory, to "
                                   "a temporary file in '" +
                                   folder +
                                   "' (TMPDIR): " + std::strerror(errno));
  };
  if (file < 0) {
    std::string path = folder + "/mpc-data-XXXXXX";
    file = mkostemp(path.data(), O_CLOEXEC);
    if (file < 0)
      fail();
    unlink(path.c_str());
  }
  for (size_t at = 0; at < buffer.size();) {
    ssize_t done = ::write(file, buffer.data() + at, buffer.size() - at);
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0)
      fail();
    at += done;
  }
  written += buffer.size();
  // Release the memory of a large first piece.
  buffer = {};
}

Elements ElementsBuilder::take() {
  if (file < 0)
    return Elements(std::move(buffer));
  flush();
  return Elements::map(file, 0, written, "a temporary file for " + what);
}
