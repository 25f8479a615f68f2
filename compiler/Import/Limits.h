//===- Limits.h - Default limits of models ----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_LIMITS_H
#define MPC_COMPILER_IMPORT_LIMITS_H

#include <cstdint>

namespace mpc {

/// Default limit of operations of the forward graph. Compiling one for training
/// takes up to a millisecond and 30 KB. A thousand steps of a GRU have 33,000.
constexpr int64_t kMaxOps = 40'000;

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_LIMITS_H
