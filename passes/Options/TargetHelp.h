//===- TargetHelp.h - Device names in the help of --target ------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_TARGETHELP_H
#define MPC_PASSES_OPTIONS_TARGETHELP_H

namespace mpc {

/// "cpu, cuda, or DEVICE:ARCH; comma-separated".
inline constexpr char kTargetHelp[] =
#define MPC_DEVICE(name, ...) #name ", "
#include "kernels/devices.def"
    "or DEVICE:ARCH; comma-separated";

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_TARGETHELP_H
