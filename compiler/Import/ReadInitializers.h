//===- ReadInitializers.h - Values of a model's initializers ----*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_READINITIALIZERS_H
#define MPC_COMPILER_IMPORT_READINITIALIZERS_H

#include "mpc/dtype.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <optional>

namespace mpc {

/// An initializer, valid during the call.
struct InitializerView {
  llvm::StringRef name;
  std::optional<mpc_dtype_t> dtype; ///< None if no state can have the type.
  llvm::ArrayRef<int64_t> shape;
  llvm::ArrayRef<char> bytes;
};

/// Calls `visit` with each initializer whose elements have whole numbers of
/// bytes, by the names that import gives to states. Reads external data; does
/// not import the graph. Fails with a ModelFileError.
llvm::Error
readInitializers(llvm::StringRef path,
                 llvm::function_ref<void(const InitializerView &)> visit);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_READINITIALIZERS_H
