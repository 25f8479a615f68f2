//===- TargetHelp.h - The devices in the help of an option ------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_TARGETHELP_H
#define MPC_PASSES_OPTIONS_TARGETHELP_H

namespace mpc {

/// "Targets: cpu, cuda, or DEVICE:ARCHITECTURE; comma-separated".
inline constexpr char kTargetHelp[] = "Targets: "
#define MPC_DEVICE(name, ...) #name ", "
#include "kernels/devices.def"
                                      "or DEVICE:ARCHITECTURE; comma-separated";

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_TARGETHELP_H
