//===- LossFromData.h - The loss that a data set suggests -------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_LOSSFROMDATA_H
#define MPC_TOOLS_MPC_DATA_LOSSFROMDATA_H

#include "tools/mpc/base/Runtime.h"
#include "tools/npz/Npz.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// A loss between an output of a model and the array `labels` or `targets`.
struct DataLoss {
  std::string kind;   ///< "mse".
  std::string output; ///< Its name.
  std::string why;    ///< "'targets', float32[64,3], are numbers"
  std::string array;  ///< Its name in the data.
  /// What NumPy makes of the array so that it fits: ".argmax(-1)"; "" if it
  /// fits as it is.
  std::string conversion;
  int64_t labelAxis = 0; ///< 0: any that the compiler finds will do.
  uint64_t samples = 0;  ///< In that array.

  /// "--loss=mse", "--loss=softmax-cross-entropy --label-axis=1".
  std::string options() const;

  /// What the loss calls the array that it compares with.
  std::string input() const;

  /// "; save data['targets'].argmax(-1) as 'labels'"; "" if that is not needed,
  /// or `message` says it already.
  std::string remedy(const std::string &message) const;
};

/// An output as the model has it, the samples of a batch first.
struct OutputShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// Reads what there is to compare with, and finds the output and the loss that
/// are for its type, its shape and its values. None if no output fits, or
/// several do.
std::optional<DataLoss> findLossFor(const npz::Reader &data,
                                    const std::vector<OutputShape> &outputs);

/// Where data does not fit a program, but another loss or in another form: what
/// to do beyond what `message` says, "; for these run: mpc compile model.onnx
/// --loss=mse -o model.mpc". Else "".
std::string adviseLoss(const Program &program, const std::string &data,
                       const std::string &message);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_LOSSFROMDATA_H
