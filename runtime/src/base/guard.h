// Keeps exceptions from leaving the library, and copies structs of the API
// whose size differs between the versions of caller and library.

#ifndef MPC_RUNTIME_SRC_BASE_GUARD_H_
#define MPC_RUNTIME_SRC_BASE_GUARD_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>

#include "mpc/status.h"

namespace mpc::runtime {

// Runs the body of an API function and turns exceptions into statuses. Only the
// standard library throws here, when it runs out of memory. Large allocations
// report their own errors, with the number of bytes: see Memory.
template <typename Body>
mpc_status_t guard(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return mpc_status_make(MPC_OUT_OF_MEMORY,
                           "out of host memory for the tables of the library");
  } catch (const std::exception& error) {
    return mpc_status_make(MPC_INTERNAL, "internal error: %s", error.what());
  } catch (...) {
    return mpc_status_make(MPC_INTERNAL, "internal error: unknown exception");
  }
}

// Copies `value` to the caller's struct, up to the `struct_size` of that
// struct, which is left as it is.
template <typename Struct>
mpc_status_t copy_out(const Struct& value, Struct* out) {
  static_assert(offsetof(Struct, struct_size) == 0);
  size_t size = std::min(out->struct_size, sizeof(Struct));
  if (size < sizeof(size_t))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "struct_size of the result is not set");
  std::memcpy(reinterpret_cast<char*>(out) + sizeof(size_t),
              reinterpret_cast<const char*>(&value) + sizeof(size_t),
              size - sizeof(size_t));
  return nullptr;
}

// Reads a caller's struct, which may be older (shorter) or newer (longer) than
// ours. Fields that it lacks become zero.
template <typename Struct>
mpc_status_t copy_in(const Struct* in, const char* what, Struct* out) {
  static_assert(offsetof(Struct, struct_size) == 0);
  if (in->struct_size < sizeof(size_t))
    return mpc_status_make(MPC_INVALID_ARGUMENT, "struct_size of %s is not set",
                           what);
  *out = Struct();
  std::memcpy(out, in, std::min(in->struct_size, sizeof(Struct)));
  return nullptr;
}

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_BASE_GUARD_H_
