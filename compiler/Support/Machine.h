//===- Machine.h - How fast machines are ------------------------*- C++ -*-===//
//
// The cost model: operations and bytes take their time one after the other.
// What formats are chosen by, and what `mpc report` estimates times with.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_MACHINE_H
#define MPC_COMPILER_SUPPORT_MACHINE_H

#include <string>

namespace mpc {

/// What a machine does in a nanosecond. A format without units of its own has
/// the rate of the one that its products are computed in.
struct Machine {
  std::string name; ///< "an H100".
  double bytes = 0; ///< Read or written.
  /// Operations of products.
  double f32 = 0, tf32 = 0, bf16 = 0, f16 = 0, fp8 = 0;
  double turnedBytes = 0; ///< The same, by kernels that transpose.
  double launch = 0;      ///< Nanoseconds that one more kernel takes.

  /// How many bytes take as long as one operation takes longer in f32 than in
  /// bf16.
  double bytesPerFlop() const { return bytes / f32 - bytes / bf16; }
};

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_MACHINE_H
