#include "runtime/src/device/code.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "runtime/src/base/byte_text.h"

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

mpc_status_t Code::load(Span image) {
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
  handle_ = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle_)
    return mpc_status_make(MPC_INCOMPATIBLE,
                           "cannot load the compiled code: %s", ::dlerror());
  return nullptr;
}

GeneratedFunction Code::find(const char* symbol) const {
  void* address = handle_ ? ::dlsym(handle_, symbol) : nullptr;
  GeneratedFunction function;
  static_assert(sizeof(function) == sizeof(address));
  std::memcpy(&function, &address, sizeof(function));
  return function;
}

}  // namespace mpc::runtime
