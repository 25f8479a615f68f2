//===- OrtCheckpoint.h - Checkpoints of ONNX Runtime ------------*- C++ -*-===//
//
// The file in which on-device training of ONNX Runtime keeps the parameters,
// which are inputs of its training model, and the optimizer's state. Does not
// use MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_TRAININGSTEP_ORTCHECKPOINT_H
#define MPC_COMPILER_IMPORT_TRAININGSTEP_ORTCHECKPOINT_H

#include "compiler/Import/File/TensorData.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <utility>
#include <vector>

namespace mpc {

/// A tensor of a checkpoint. Its data type has a nonzero dataTypeSize, and the
/// data has the number of elements of the shape; it need not be aligned.
struct OrtTensor {
  llvm::StringRef name;
  int32_t dataType; ///< TensorProto::DataType.
  llvm::SmallVector<int64_t, 4> shape;
  TensorBytes data; ///< A nominal checkpoint has neither data nor shape.
};

/// The optimizer's state of a trained parameter, in tensors of its type and
/// shape: "momentum0" and "momentum1" for AdamW, a "momentum0" of zeros for
/// SGD.
struct OrtParameterState {
  llvm::StringRef parameter;
  std::vector<OrtTensor> momentums;
};

/// Parameters that are updated together; onnxruntime-training creates one
/// group, "group0".
struct OrtOptimizerGroup {
  llvm::StringRef name;
  int64_t step;              ///< Number of steps so far, not negative.
  float initialLearningRate; ///< Always 0.001, despite set_learning_rate().
  std::vector<OrtParameterState> states;
};

/// A checkpoint, in the order of the file: the order of the model if
/// generate_artifacts() wrote it, by name if it was saved in training. Names
/// are UTF-8 text without NUL. They are unique among all parameters (trained or
/// not), among the momentums of one parameter, among groups, among the
/// parameters in all groups and among all properties. Copies share the file.
struct OrtCheckpoint {
  bool isNominal = false;
  std::vector<OrtTensor> trained, frozen;
  std::vector<OrtOptimizerGroup> groups;
  std::vector<std::pair<llvm::StringRef, int64_t>> ints;
  std::vector<std::pair<llvm::StringRef, float>> floats;
  /// The values are arbitrary bytes from the user.
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> strings;
  std::shared_ptr<const void> file; ///< Keeps names and values alive.
};

/// Maps and reads a checkpoint; its data is not copied. Fails with a
/// ModelFileError whose message does not name the file.
llvm::Expected<OrtCheckpoint> readOrtCheckpoint(llvm::StringRef path);

/// Reads a checkpoint from memory. The buffer's identifier is its path; a
/// second file is searched beside it. `owner` keeps the buffer alive.
llvm::Expected<OrtCheckpoint>
parseOrtCheckpoint(llvm::MemoryBufferRef buffer,
                   std::shared_ptr<const void> owner);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_ORTCHECKPOINT_H
