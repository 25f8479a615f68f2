//===- FileMapping.cpp - Read-only view of a file -------------------------===//

#include "compiler/Import/File/FileMapping.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace mpc;

// From linux/openat2.h, which older systems lack; the numbers are part of the
// kernel's ABI.
namespace {
struct OpenHow {
  uint64_t flags, mode, resolve;
};
} // namespace
static constexpr long kOpenat2 = 437;
static constexpr uint64_t kNoMagicLinks = 0x02, kNoSymlinks = 0x04,
                          kBeneath = 0x08;

// O_NONBLOCK: opening a FIFO must not wait for a writer.
static constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

static Error ioError(const Twine &what, int code) {
  return makeModelError(ModelError::Io, what + ": " + std::strerror(code));
}

Expected<std::shared_ptr<FileMapping>>
FileMapping::map(int descriptor, StringRef shownName, bool refuseHardLinks) {
  scope_exit close([&] { ::close(descriptor); });
  struct stat info;
  if (fstat(descriptor, &info) != 0)
    return ioError("cannot read '" + shownName + "'", errno);
  if (!S_ISREG(info.st_mode))
    return makeModelError(ModelError::Io,
                          "'" + shownName + "' is not a regular file");
  if (refuseHardLinks && info.st_nlink > 1)
    return makeModelError(
        ModelError::Invalid,
        "external data '" + shownName + "' has " + Twine(info.st_nlink) +
            " hard links, so it may be a file from elsewhere; copy it");
  size_t size = info.st_size;
  if (size == 0) // mmap fails for empty files.
    return std::shared_ptr<FileMapping>(new FileMapping(nullptr, 0));
  void *data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED)
    return ioError("cannot map '" + shownName + "'", errno);
  return std::shared_ptr<FileMapping>(
      new FileMapping(static_cast<const char *>(data), size));
}

FileMapping::~FileMapping() {
  if (data)
    munmap(const_cast<char *>(data), size);
}

void FileMapping::releasePages(size_t begin, size_t end) const {
  size_t page = sysconf(_SC_PAGESIZE);
  begin = alignTo(begin, page);
  end = alignDown(std::min(end, size), page);
  if (begin < end) // Only saves memory, so that failure does not matter.
    (void)madvise(const_cast<char *>(data) + begin, end - begin, MADV_DONTNEED);
}

Expected<std::shared_ptr<FileMapping>> FileMapping::open(StringRef path) {
  int descriptor = ::open(path.str().c_str(), kReadFlags);
  if (descriptor < 0)
    return ioError("cannot open '" + path + "'", errno);
  return map(descriptor, path, /*refuseHardLinks=*/false);
}

/// Opens `parts` below `folder` one by one, for kernels and sandboxes without
/// openat2. O_NOFOLLOW rejects a folder that is replaced with a link in
/// between. Returns -1 and sets errno on failure.
static int openPartByPart(int folder, ArrayRef<StringRef> parts) {
  int current = folder;
  for (auto [i, part] : enumerate(parts)) {
    bool isLast = i + 1 == parts.size();
    int flags = isLast ? kReadFlags : O_PATH | O_CLOEXEC | O_DIRECTORY;
    int next = openat(current, part.str().c_str(), flags | O_NOFOLLOW);
    int code = errno;
    if (current != folder)
      ::close(current);
    errno = code;
    if (next < 0)
      return -1;
    current = next;
  }
  return current;
}

Expected<std::shared_ptr<FileMapping>>
FileMapping::openBelow(StringRef folder, StringRef location, bool partByPart) {
  auto refuse = [&](const Twine &why) {
    return makeModelError(ModelError::Invalid,
                          "external data location '" + location + "' " + why);
  };
  if (location.empty())
    return refuse("is empty");
  if (location.size() > 4096 || location.contains('\0'))
    return refuse("is not a file name");
  if (location.front() == '/')
    return refuse("is absolute; it must lie below the model's folder");
  SmallVector<StringRef> parts;
  location.split(parts, '/', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  if (is_contained(parts, ".."))
    return refuse("contains '..'; it must lie below the model's folder");
  llvm::erase(parts, ".");
  if (parts.empty())
    return refuse("is not a file name");

  int base = ::open(folder.empty() ? "." : folder.str().c_str(),
                    O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (base < 0)
    return ioError("cannot open folder '" + folder + "'", errno);
  scope_exit close([&] { ::close(base); });

  OpenHow how = {uint64_t(kReadFlags), 0,
                 kBeneath | kNoSymlinks | kNoMagicLinks};
  std::string relative = join(parts, "/");
  int descriptor = -1;
  if (!partByPart)
    descriptor = syscall(kOpenat2, base, relative.c_str(), &how, sizeof(how));
  // EPERM: a sandbox that does not support the call.
  if (partByPart || (descriptor < 0 && (errno == ENOSYS || errno == EPERM)))
    descriptor = openPartByPart(base, parts);
  if (descriptor < 0 && (errno == ELOOP || errno == EXDEV))
    return refuse("leads through a symbolic link; copy the file itself next to "
                  "the model");
  if (descriptor < 0)
    return ioError("cannot open external data '" + location + "'", errno);
  return map(descriptor, location, /*refuseHardLinks=*/true);
}
