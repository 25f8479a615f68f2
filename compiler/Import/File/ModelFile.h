//===- ModelFile.h - An ONNX file, parsed -----------------------*- C++ -*-===//
//
// Internal to compiler/Import and compiler/Export. Knows no MLIR.
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

namespace mpc {

/// Most messages and strings a model may consist of. The parser spends up to
/// 250 bytes on two bytes of file; large transformers have some 100,000.
constexpr int64_t kMaxModelParts = 4'000'000;

/// Elements as stored: little-endian, row-major, dataTypeSize bytes each.
struct TensorBytes {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<const void> owner; ///< Keeps `bytes` alive.
};

/// A parsed model and where it came from. Tensors in it are not yet checked.
struct ModelFile {
  std::string path;   ///< As the user gave it.
  std::string folder; ///< External data lies below; empty: the current folder.
  onnx::ModelProto proto;
  /// Checked data of initializers, by name, that lies in no tensor of the
  /// model, but in a checkpoint.
  llvm::StringMap<TensorBytes> checkpoint;
};

/// Reads and parses; fails with a ModelFileError.
llvm::Expected<std::shared_ptr<ModelFile>> readModelFile(llvm::StringRef path);

/// Parses what the file named by the buffer's identifier holds.
llvm::Expected<std::shared_ptr<ModelFile>>
parseModelFile(llvm::MemoryBufferRef buffer);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_FILE_MODELFILE_H
