//===- ExitCodes.h - Exit codes for failures of the compiler ----*- C++ -*-===//
#ifndef MPC_TOOLS_EXITCODES_H
#define MPC_TOOLS_EXITCODES_H

#include "compiler/Import/File/ModelError.h"

namespace mpc {

/// The exit code for an error of the compiler library; see tools/mpc/Command.h.
inline int exitCode(ModelError error) {
  switch (error) {
  case ModelError::None:
    return 0;
  case ModelError::Internal:
    return 1;
  case ModelError::Usage:
    return 2;
  case ModelError::Invalid:
    return 3;
  case ModelError::Io:
    return 4;
  case ModelError::Limit:
    return 7;
  }
  return 1;
}

} // namespace mpc

#endif // MPC_TOOLS_EXITCODES_H
