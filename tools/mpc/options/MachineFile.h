//===- MachineFile.h - Rates of a machine in a file -------------*- C++ -*-===//
//
// The file that `mpc doctor --measure` writes:
//
//   version = 1
//   name = "2 threads of ..."
//   device = "cpu"
//   f32_gflops = 349
//
// Further keys are those of compiler/Support/Machine/MachineRates.def.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_OPTIONS_MACHINEFILE_H
#define MPC_TOOLS_MPC_OPTIONS_MACHINEFILE_H

#include "compiler/Support/Machine/Machine.h"

#include <string>

namespace mpc::tool {

/// The text of a file with the rates of a machine.
std::string printMachineFile(const Machine &machine);

/// The value of an option ("--machine"): the name of a known machine, or a file
/// whose name ends in .toml. Throws a Failure that names what is wrong, for
/// files with the line.
Machine readMachineOption(const std::string &option, const std::string &value);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_MACHINEFILE_H
