//===- TensorData.h - Elements of a TensorProto -----------------*- C++ -*-===//
//
// Internal to compiler/Import and compiler/Export. Does not use MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_FILE_TENSORDATA_H
#define MPC_COMPILER_IMPORT_FILE_TENSORDATA_H

#include "compiler/Import/File/FileMapping.h"
#include "compiler/Import/File/ModelFile.h"

#include "llvm/ADT/StringMap.h"

namespace mpc {

/// Maximum number of elements and of dimensions of a tensor. No code multiplies
/// two such counts, so int64_t never overflows.
constexpr int64_t kMaxElements = int64_t(1) << 40;
constexpr unsigned kMaxRank = 8;

/// Name and bytes per element of an ONNX data type; 0 bytes for types without a
/// whole number of bytes per element (strings, 4-bit types).
llvm::StringRef dataTypeName(int32_t dataType);
unsigned dataTypeSize(int32_t dataType);

/// Multiplies extents; fails if one is negative or there are too many elements.
llvm::Expected<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Reads tensors of one model from any storage: raw bytes, typed fields,
/// external files. All checks of tensors are made here.
class TensorReader {
public:
  explicit TensorReader(std::shared_ptr<const ModelFile> model)
      : model(std::move(model)) {}

  /// `tensor` must belong to the model. Fails with a ModelFileError whose
  /// message does not name the tensor.
  llvm::Expected<TensorBytes> read(const onnx::TensorProto &tensor);

private:
  llvm::Expected<TensorBytes> readExternal(const onnx::TensorProto &tensor,
                                           uint64_t expectedBytes);
  llvm::Expected<TensorBytes> readTyped(const onnx::TensorProto &tensor,
                                        int64_t count);

  const std::shared_ptr<const ModelFile> model;
  llvm::StringMap<std::shared_ptr<FileMapping>> externalFiles;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_TENSORDATA_H
