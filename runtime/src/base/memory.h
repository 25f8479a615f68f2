// Blocks of memory from the caller's allocator.

#ifndef MPC_RUNTIME_SRC_BASE_MEMORY_H_
#define MPC_RUNTIME_SRC_BASE_MEMORY_H_

#include <cstddef>
#include <cstdint>

#include "mpc/session.h"

namespace mpc::runtime {

// The alignment of every buffer of a session, in bytes.
inline constexpr size_t kAlignment = 64;

// The allocator used when the caller passes none. Memory maps large blocks
// instead, with huge pages.
mpc_allocator_t default_allocator();

// An owned block of zeroed memory. Movable, not copyable.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = static_cast<Memory&&>(other); }
  Memory& operator=(Memory&& other) noexcept;
  ~Memory() { reset(); }

  // Allocates `size` bytes from `allocator`; `what` names them in errors. A
  // size of 0 allocates kAlignment bytes, so that data() is never null.
  mpc_status_t allocate(const mpc_allocator_t& allocator, uint64_t size,
                        const char* what);
  void reset();

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  mpc_allocator_t allocator_ = {};
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;  // Bytes of the pages that it has mapped itself.
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_BASE_MEMORY_H_
