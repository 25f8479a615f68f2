// Native code of a package, loaded into the process from memory.

#ifndef MPC_RUNTIME_SRC_DEVICE_CODE_H_
#define MPC_RUNTIME_SRC_DEVICE_CODE_H_

#include <string>

#include "mpc/status.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// Computes items [begin, end).
using GeneratedFunction = void (*)(void* const* operands, int64_t begin,
                                   int64_t end);

// A shared object that is loaded from an anonymous file in memory, or from a
// file that stays. The code is trusted: loading it runs its constructors.
class Code {
 public:
  Code() = default;
  Code(Code&& other) noexcept;
  Code& operator=(Code&&) = delete;
  ~Code();

  // Loads the ELF shared object in `image`. MPC_INCOMPATIBLE if this process
  // cannot load it. If `folder` is not "", the object becomes a file in that
  // folder whose name depends only on the contents; MPC_IO if that fails.
  mpc_status_t load(Span image, const std::string& folder);

  // Null if the code has no such symbol.
  GeneratedFunction find(const char* symbol) const;

 private:
  mpc_status_t open(const char* path);
  mpc_status_t load_from_memory(Span image);

  int file_ = -1;
  void* handle_ = nullptr;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CODE_H_
