//===- ModelError.h - Errors about model files ------------------*- C++ -*-===//
//
// Shared by import and export; uses neither MLIR nor ONNX.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_FILE_MODELERROR_H
#define MPC_COMPILER_IMPORT_FILE_MODELERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace mpc {

/// Kinds of errors, by what the user can do about them.
enum class ModelError {
  None,
  Internal, ///< A defect of the compiler.
  Usage,    ///< An option does not fit the model.
  Invalid,  ///< The model is broken or uses unsupported features.
  Io,       ///< A file could not be read or written.
  Limit,    ///< Out of memory, or over a limit of mpc.
};

inline bool failed(ModelError error) { return error != ModelError::None; }

/// The payload of every llvm::Error that import and export return. `line` and
/// `column` count from 1; 0 if the file is not text.
class ModelFileError : public llvm::ErrorInfo<ModelFileError> {
public:
  static char ID;

  ModelFileError(ModelError kind, std::string message, unsigned line = 0,
                 unsigned column = 0)
      : kind(kind), message(std::move(message)), line(line), column(column) {}

  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

  const ModelError kind;
  const std::string message;
  const unsigned line, column;
};

inline llvm::Error makeModelError(ModelError kind, const llvm::Twine &message) {
  return llvm::make_error<ModelFileError>(kind, message.str());
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_MODELERROR_H
