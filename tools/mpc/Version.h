//===- Version.h - The version of mpc ---------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_VERSION_H
#define MPC_TOOLS_MPC_VERSION_H

#define MPC_VERSION "0.1.0"

#endif // MPC_TOOLS_MPC_VERSION_H
