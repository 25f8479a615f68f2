#include "runtime/src/device/code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/src/base/byte_text.h"
#include "runtime/src/base/files.h"
#include "runtime/src/base/json.h"
#include "runtime/src/base/number.h"

namespace mpc::runtime {

Code::Code(Code&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      handle_(std::exchange(other.handle_, nullptr)) {}

Code::~Code() {
  if (handle_) ::dlclose(handle_);
  if (file_ >= 0) ::close(file_);
}

static bool write_whole(int file, Span image) {
  for (uint64_t done = 0; done < image.size;) {
    ssize_t count = ::write(file, image.data + done, image.size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<uint64_t>(count);
  }
  return true;
}

// Seals the file so that nothing, including this process, can change the code
// any more.
static bool seal(int file) {
  return ::fcntl(file, F_ADD_SEALS,
                 F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

mpc_status_t Code::open(const char* path) {
  handle_ = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle_) return nullptr;
  return mpc_status_make(MPC_INCOMPATIBLE, "cannot load the compiled code: %s",
                         ::dlerror());
}

mpc_status_t Code::load_from_memory(Span image) {
  file_ = ::memfd_create("mpc-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0 || !write_whole(file_, image) || !seal(file_))
    return mpc_status_make(MPC_OUT_OF_MEMORY,
                           "cannot place %s of compiled code in memory: %s",
                           ByteText(image.size).c_str(), std::strerror(errno));
  // The file stays open as long as the code is loaded: dlopen identifies
  // objects by path, and would take a later file with the same descriptor for
  // this one.
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", file_);
  return open(path);
}

// Writes a file under a temporary name and renames it, because other processes
// may have loaded a file of the same name. Returns 0 or errno.
static int write_code_file(const std::string& path, Span image) {
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (file < 0) return errno;
  errno = 0;
  int error = write_whole(file, image) ? 0 : (errno != 0 ? errno : EIO);
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0)
    error = errno;
  if (error != 0) ::unlink(temporary.c_str());
  return error;
}

mpc_status_t Code::load(Span image, const std::string& folder) {
  if (folder.empty()) return load_from_memory(image);
  const std::string path =
      folder + "/mpc-code-" + hex_of(checksum(image.data, image.size)) + ".so";
  const int error = write_code_file(path, image);
  if (error != 0) return io_error("write", path, -error);
  return open(path.c_str());
}

GeneratedFunction Code::find(const char* symbol) const {
  void* address = handle_ ? ::dlsym(handle_, symbol) : nullptr;
  GeneratedFunction function;
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(function));
  return function;
}

}  // namespace mpc::runtime
