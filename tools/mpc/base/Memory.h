//===- Memory.h - Allocation whose size depends on data ---------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_MEMORY_H
#define MPC_TOOLS_MPC_BASE_MEMORY_H

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpc::tool {

/// Resizes `buffer` to `size` bytes. If there is not enough memory, throws a
/// Failure that names the size and `what` it is for.
inline void resizeOrThrow(std::vector<char> &buffer, uint64_t size,
                          const std::string &what) {
  try {
    buffer.resize(size);
    return;
  } catch (const std::bad_alloc &) {
  } catch (const std::length_error &) {
  }
  throw Failure(Limit, "cannot allocate " + formatBytes(size) + " for " + what);
}

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_MEMORY_H
