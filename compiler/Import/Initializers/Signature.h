//===- Signature.h - PyTorch's signature of a model -------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_INITIALIZERS_SIGNATURE_H
#define MPC_COMPILER_IMPORT_INITIALIZERS_SIGNATURE_H

#include "compiler/Import/File/ModelFile.h"

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
    Parameter, ///< A parameter of a module.
    Buffer,    ///< A buffer of a module, or a constant tensor of its code.
    Computed,  ///< Computed by the exporter from others.
  };
  Role roleOf(llvm::StringRef initializer) const;

  /// Returns true if the file has a signature.
  bool isKnown() const { return exists; }

  /// Parameters that are not initializers any more, because the exporter folded
  /// them, in the order of the file. If the exporter does not record what it
  /// folded, includes parameters that the model does not need and second names
  /// of others.
  const std::vector<std::string> &missing() const { return missingNames; }

  /// Returns true if an initializer that the exporter computed may contain
  /// parameters: newer exporters list what they computed each initializer from.
  bool mayHoldParameters(llvm::StringRef initializer) const;

private:
  void readOrigins(const onnx::GraphProto &graph,
                   const llvm::StringSet<> &parameters);

  bool exists = false;
  llvm::StringMap<Role> roles;
  std::vector<std::string> missingNames;
  bool hasOrigins = false;
  llvm::StringSet<> derived; ///< Computed from parameters.
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_SIGNATURE_H
