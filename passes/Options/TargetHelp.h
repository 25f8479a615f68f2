//===- TargetHelp.h - The devices in the help of an option ------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_TARGETHELP_H
#define MPC_PASSES_OPTIONS_TARGETHELP_H

namespace mpc {

/// "cpu, cuda, or DEVICE:ARCHITECTURE; several with commas between".
inline constexpr char kTargetHelp[] =
#define MPC_DEVICE(name, ...) #name ", "
#include "kernels/devices.def"
    "or DEVICE:ARCHITECTURE; several with commas between";

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_TARGETHELP_H
