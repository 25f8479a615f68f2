//===- Signature.h - What PyTorch says of initializers ----------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_SIGNATURE_H
#define MPC_COMPILER_IMPORT_SIGNATURE_H

#include "compiler/Import/ModelFile.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <string>
#include <vector>

namespace mpc {

/// The signature of the program that torch.export traced, which PyTorch's
/// exporter leaves in the metadata of the file.
class Signature {
public:
  explicit Signature(const onnx::ModelProto &model);

  enum class Role {
    Unknown,   ///< The file has no signature.
    Parameter, ///< Of a module.
    Buffer,    ///< A buffer of a module, or a tensor of its code.
    Computed,  ///< The exporter computed it from others.
  };
  Role roleOf(llvm::StringRef initializer) const;

  /// Parameters that are no initializers any more: the exporter computed with
  /// them. In the order of the file.
  const std::vector<std::string> &missing() const { return missingNames; }

private:
  bool exists = false;
  llvm::StringMap<Role> roles;
  std::vector<std::string> missingNames;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_SIGNATURE_H
