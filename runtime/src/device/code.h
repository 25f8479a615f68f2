// Native code of a package, loaded into the process from memory.

#ifndef MPC_RUNTIME_SRC_DEVICE_CODE_H_
#define MPC_RUNTIME_SRC_DEVICE_CODE_H_

#include "mpc/status.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// Computes items [begin, end).
using GeneratedFunction = void (*)(void* const* operands, int64_t begin,
                                   int64_t end);

// A shared object that is loaded from an anonymous file in memory. The code is
// trusted: loading it runs its constructors.
class Code {
 public:
  Code() = default;
  Code(Code&& other) noexcept;
  Code& operator=(Code&&) = delete;
  ~Code();

  // Loads the ELF shared object in `image`. MPC_INCOMPATIBLE if this process
  // cannot load it.
  mpc_status_t load(Span image);

  // Null if the code has no such symbol.
  GeneratedFunction find(const char* symbol) const;

 private:
  int file_ = -1;
  void* handle_ = nullptr;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CODE_H_
