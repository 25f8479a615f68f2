//===- ModelFile.h - A parsed ONNX file -------------------------*- C++ -*-===//
//
// Internal to compiler/Import and compiler/Export. Does not use MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_FILE_MODELFILE_H
#define MPC_COMPILER_IMPORT_FILE_MODELFILE_H

#include "compiler/Import/File/ModelError.h"

#include "onnx/onnx_pb.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mpc {

/// Maximum number of messages and strings of a model. The parser needs up to
/// 250 bytes of memory per two bytes of file; large transformers have about
/// 100,000.
constexpr int64_t kMaxModelParts = 4'000'000;

/// Stored elements: little-endian, row-major, dataTypeSize bytes each.
struct TensorBytes {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes` alive.
};

/// A parsed model and its path. Its tensors are not yet checked.
struct ModelFile {
  std::string path;   ///< As the user gave it.
  std::string folder; ///< Folder of external data; the current folder if empty.
  bool hasFolder = true; ///< False: external data is an error.
  onnx::ModelProto proto;
  /// Checked data of initializers by name, if it is not in the model but in a
  /// checkpoint.
  llvm::StringMap<TensorBytes> checkpoint;

  /// Moves the raw data of large f32 initializers out of `proto`, so that each
  /// can be freed when it is not needed any more, and not only the whole model.
  /// TensorReader finds them; `proto` is not complete any more.
  void detachData();

  /// The detached data of a tensor; null if it has none.
  std::shared_ptr<const std::string>
  detachedData(const onnx::TensorProto &tensor) const;

  /// Drops this object's references to detached data.
  void forgetData() { detached.clear(); }

private:
  std::vector<std::shared_ptr<const std::string>> detached;
};

/// Reads and parses; fails with a ModelFileError.
llvm::Expected<std::shared_ptr<ModelFile>> readModelFile(llvm::StringRef path);

class FileMapping;

/// Parses a model in memory. The buffer's identifier is its path. If it is the
/// content of `mapping`, the pages of a binary model are released as soon as
/// they have been parsed.
llvm::Expected<std::shared_ptr<ModelFile>>
parseModelFile(llvm::MemoryBufferRef buffer,
               const FileMapping *mapping = nullptr);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_MODELFILE_H
