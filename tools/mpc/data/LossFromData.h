//===- LossFromData.h - Choose a loss from a data set -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_LOSSFROMDATA_H
#define MPC_TOOLS_MPC_DATA_LOSSFROMDATA_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/data/sources/DataSource.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// A loss between an output of a model and the array `labels` or `targets`.
struct DataLoss {
  std::string kind;   ///< "mse".
  std::string output; ///< Name of the output.
  std::string why;    ///< "'targets' (float32[64,3]) contains numbers"
  std::string array;  ///< Name of the array in the data.
  /// The NumPy expression that makes the array fit: ".argmax(-1)"; "" if it
  /// fits as it is.
  std::string conversion;
  int64_t labelAxis = 0; ///< 0: the compiler chooses the axis.
  uint64_t samples = 0;  ///< Samples in the array.

  /// "--loss=mse", "--loss=softmax-cross-entropy --label-axis=1".
  std::string options() const;

  /// The name of the input that the loss compares with.
  std::string input() const;

  /// "; save data['targets'].argmax(-1) as 'labels'"; "" if that is not needed.
  std::string remedy() const;
};

/// An output of the model; the first dimension is the batch.
struct OutputShape {
  std::string name;
  std::vector<int64_t> shape;
};

/// Reads the array `labels` or `targets`, and finds the output and the loss
/// that fit its type, shape and values. None if no output fits or several do.
std::optional<DataLoss> findLossFor(const DataSource &data,
                                    const std::vector<OutputShape> &outputs);

/// Why findLossFor found no loss.
std::string explainNoLoss(const DataSource &data,
                          const std::vector<OutputShape> &outputs);

/// If data does not fit a program but would fit with another loss or in another
/// form: advice for withAdvice, "; to train on it, recompile: mpc compile
/// model.onnx --loss=mse -o model.mpc". Otherwise "".
std::string adviseLoss(const Program &program, const DataOptions &data);

/// Appends the advice, if there is any, to a message of Dataset, in place of
/// the general hints there.
std::string withAdvice(std::string message, const std::string &advice);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_LOSSFROMDATA_H
