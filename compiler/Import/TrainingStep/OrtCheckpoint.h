//===- OrtCheckpoint.h - Checkpoints of ONNX Runtime ------------*- C++ -*-===//
//
// What on-device training of ONNX Runtime keeps beside its training model: the
// parameters, which are inputs there, and the optimizer's state. Knows no MLIR.
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

/// A tensor of a checkpoint. Elements are those of a nonempty dataTypeSize, and
/// as many as the shape says; they need not be aligned.
struct OrtTensor {
  llvm::StringRef name;
  int32_t dataType; ///< TensorProto::DataType.
  llvm::SmallVector<int64_t, 4> shape;
  TensorBytes
      data; ///< The data; a nominal checkpoint has neither data nor shape.
};

/// What the optimizer knows of a trained parameter, in tensors of its type and
/// shape: "momentum0" and "momentum1" of AdamW, of SGD a "momentum0" of zeros.
struct OrtParameterState {
  llvm::StringRef parameter;
  std::vector<OrtTensor> momentums;
};

/// Parameters that are updated together: the package makes one, "group0".
struct OrtOptimizerGroup {
  llvm::StringRef name;
  int64_t step;              ///< Steps done, not negative.
  float initialLearningRate; ///< 0.001 whatever set_learning_rate() was given.
  std::vector<OrtParameterState> states;
};

/// A checkpoint, in the order of the file: that of the model as
/// generate_artifacts() writes it, by name once it was saved in training. Names
/// are UTF-8 text without NUL; those of parameters differ, trained or not, as
/// do those of momentums of one parameter, of groups, of parameters in all
/// groups and of all properties. Copies share the file.
struct OrtCheckpoint {
  bool isNominal = false;
  std::vector<OrtTensor> trained, frozen;
  std::vector<OrtOptimizerGroup> groups;
  std::vector<std::pair<llvm::StringRef, int64_t>> ints;
  std::vector<std::pair<llvm::StringRef, float>> floats;
  /// The values are bytes as the user gave them.
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> strings;
  std::shared_ptr<const void> file; ///< Keeps names and values alive.
};

/// Maps and reads a checkpoint; its data is not copied. Fails with a
/// ModelFileError whose message does not name the file.
llvm::Expected<OrtCheckpoint> readOrtCheckpoint(llvm::StringRef path);

/// Reads what the file named by the buffer's identifier holds; a second file is
/// looked for beside it. `owner` keeps the buffer alive.
llvm::Expected<OrtCheckpoint>
parseOrtCheckpoint(llvm::MemoryBufferRef buffer,
                   std::shared_ptr<const void> owner);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_TRAININGSTEP_ORTCHECKPOINT_H
