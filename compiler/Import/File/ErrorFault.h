//===- ErrorFault.h - Faults of errors about model files --------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_FILE_ERRORFAULT_H
#define MPC_COMPILER_IMPORT_FILE_ERRORFAULT_H

#include "compiler/Import/File/ModelError.h"
#include "compiler/Support/Faults.h"

namespace mpc {

/// What a diagnostic reports for an error of this kind.
inline Fault faultOf(ModelError kind) {
  switch (kind) {
  case ModelError::Usage:
    return Fault::OptionConflict;
  case ModelError::Invalid:
    return Fault::InvalidFile;
  case ModelError::Io:
    return Fault::UnreadableFile;
  case ModelError::Limit:
    return Fault::TooLarge;
  case ModelError::None:
  case ModelError::Internal:
    break;
  }
  return Fault::InternalError;
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_ERRORFAULT_H
