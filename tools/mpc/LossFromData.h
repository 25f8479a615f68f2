//===- LossFromData.h - The loss that a data set suggests -------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LOSSFROMDATA_H
#define MPC_TOOLS_MPC_LOSSFROMDATA_H

#include "tools/mpc/Runtime.h"
#include "tools/npz/Npz.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// A loss between an output of a model and the array `labels` or `targets`.
struct DataLoss {
  std::string kind;      ///< "mse".
  std::string output;    ///< Its name.
  std::string why;       ///< "'targets', float32[64,3], are numbers"
  int64_t labelAxis = 0; ///< 0: any that the compiler finds will do.
  uint64_t samples = 0;  ///< In that array.

  /// "--loss=mse", "--loss=softmax-cross-entropy --label-axis=1".
  std::string options() const;
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

/// Where data does not fit the loss of a program, but another: "; for this data
/// run: mpc compile model.onnx --loss=mse -o model.mpc". Else "".
std::string adviseLoss(const Program &program, const std::string &data);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LOSSFROMDATA_H
