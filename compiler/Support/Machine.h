//===- Machine.h - Speed of machines ----------------------------*- C++ -*-===//
//
// The cost model: the times of operations and of memory traffic add up. It
// decides formats, and `mpc report` estimates times with it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_MACHINE_H
#define MPC_COMPILER_SUPPORT_MACHINE_H

#include <string>

namespace mpc {

/// What a machine does per nanosecond. A format without units of its own has
/// the rate of the format that its products are computed in.
struct Machine {
  std::string name; ///< "an H100".
  double bytes = 0; ///< Read or written.
  /// Operations of matrix products.
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0, fp8 = 0;
  double transposedBytes = 0; ///< Read or written by kernels that transpose.
  double launch = 0;          ///< Nanoseconds of overhead per kernel.

  /// The number of bytes whose transfer takes as long as one operation saves in
  /// bf16 against f32.
  double bytesPerFlop() const { return bytes / f32 - bytes / bf16; }
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_MACHINE_H
