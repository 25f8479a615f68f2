//===- Machine.h - Speed of machines ----------------------------*- C++ -*-===//
//
// A machine is a row of rates: known ones are in Machines.def, and `mpc doctor
// --measure` writes the row of the machine that it runs on. Formats, the choice
// of precision `auto` and all estimates read these rows, never a timing at
// run time, so that a machine repeats its bits. Does not use LLVM, so that
// tools without the compiler can use it, too.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_SUPPORT_MACHINE_MACHINE_H
#define MPC_COMPILER_SUPPORT_MACHINE_MACHINE_H

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpc {

/// The rates of a machine. Operations per nanosecond are GFLOP/s, bytes per
/// nanosecond GB/s. Rates are what programs reach if they were measured, and
/// peaks if they are from a data sheet.
struct Machine {
  std::string name;           ///< "an H100".
  std::string device = "cpu"; ///< Name in kernels/devices.def.
#define MPC_MACHINE_RATE(field, ...) double field = 0;
#include "compiler/Support/Machine/MachineRates.def"

  /// The number of bytes whose transfer takes as long as one operation saves in
  /// bf16 against f32; 0 if products in bf16 are not faster.
  double bytesPerFlop() const {
    return std::max(0.0, bytes / f32 - bytes / bf16);
  }
};

/// What an instruction multiplies and adds with.
enum class Arithmetic { Vector, F32, Tf32, Bf16, F16, Fp8, F64 };

/// The work of one instruction.
struct Work {
  Arithmetic arithmetic = Arithmetic::Vector;
  double flops = 0, bytes = 0;
};

/// The time of an instruction in nanoseconds. Arithmetic and memory traffic
/// overlap.
struct WorkTime {
  double launch = 0, arithmetic = 0, memory = 0;

  double sum() const { return launch + std::max(arithmetic, memory); }
};

/// The operations per nanosecond of a machine in a format.
double operationRate(const Machine &machine, Arithmetic arithmetic);

/// The bytes per nanosecond of an instruction that reads and writes `bytes`:
/// the rate of the smallest cache that holds them, else that of memory.
double byteRate(const Machine &machine, double bytes);

/// The cost model: every estimate of time is a sum of these. An instruction
/// cannot be faster than the rates of the machine (roofline), and is assumed to
/// reach them.
WorkTime timeOf(const Work &work, const Machine &machine);

/// A row of Machines.def.
struct KnownMachine {
  std::string_view key;             ///< "h100", the name that users write.
  std::string_view feature, models; ///< The targets that it stands for.
  std::string_view source;          ///< Where its rates come from.
  Machine machine;
};

/// All rows.
const std::vector<KnownMachine> &knownMachines();
/// The row of this name; null if there is none.
const KnownMachine *findKnownMachine(std::string_view key);
/// The first row of a device that stands for `feature` and prefers `model`,
/// else the first that stands for `feature`; null if there is none.
const KnownMachine *findMachineFor(std::string_view device,
                                   std::string_view feature,
                                   std::string_view model = "");

/// A machine as lines "KEY=VALUE": the name, the device, and each rate in the
/// unit of its key that is not 0.
std::vector<std::string> textOf(const Machine &machine);

/// Reads the value of option `machine`: the name of a row, or the lines of
/// textOf. Fills in rates that a machine need not state. Returns "", or what is
/// wrong; then `machine` is unspecified.
std::string readMachine(const std::vector<std::string> &text, Machine &machine);

/// Sets one property by its key, such as "f32_gflops". Returns "", or what is
/// wrong: "unknown key 'x'", "f32_gflops must be ...".
std::string setProperty(Machine &machine, std::string_view key,
                        const std::string &value);

/// The keys of setProperty, in the order in which they are written.
std::vector<std::string> machineKeys();

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_MACHINE_MACHINE_H
