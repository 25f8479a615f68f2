//===- Dataset.h - The arrays of an .npz file, in batches -------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_DATASET_H
#define MPC_TOOLS_MPC_DATA_DATASET_H

#include "tools/mpc/base/Runtime.h"
#include "tools/npz/Npz.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// Samples for one entry point. Arrays go by the names of its inputs; arrays
/// that no input asks for are ignored.
class Dataset {
public:
  /// Reads `path` and binds its arrays; throws a Failure that names the array
  /// and what is wrong. What is converted on the way is told on stderr.
  Dataset(const std::string &path, const std::vector<Binding> &inputs);

  /// The same for arrays in memory; `notes` receives what was converted.
  Dataset(const std::string &path, npz::Arrays arrays,
          const std::vector<Binding> &inputs, std::vector<std::string> &notes);

  Dataset(const Dataset &) = delete;
  Dataset &operator=(const Dataset &) = delete;

  uint64_t numSamples() const { return samples; }
  uint64_t batchSize() const { return batch; }

  /// The tensors of one batch, in the order of the inputs; valid until the next
  /// call. Takes at least one and at most batchSize() indices below
  /// numSamples(); the rest of the batch repeats the last of them.
  const std::vector<mpc_tensor_t> &gather(const std::vector<uint64_t> &indices);

  /// That the loss ignores the labels of all these samples, "" if not.
  std::string explainNoLabels(const std::vector<uint64_t> &indices) const;

  /// "in the data x[2,1] of data.npz is nan: ...": the first nan of these
  /// samples, or else their first infinity, which can be meant, as in masks; ""
  /// if there is neither.
  std::string explainNonFinite(const std::vector<uint64_t> &indices) const;

  /// Names, types, shapes and samples of the content of all arrays, by which
  /// other data can be told: a line for each.
  std::string fingerprint() const;

  /// "'x'": the arrays that were others when fingerprint() gave `before`, and
  /// those that were there or were not.
  std::vector<std::string> differencesFrom(const std::string &before) const;

  const std::string path;

private:
  /// One input and the array behind it. Seen as [outer, samples, inner]: a
  /// batch takes some of the samples.
  struct Column {
    Binding input;
    npz::Array array;
    uint64_t outer = 1, innerBytes = 0;
    bool ignores(uint64_t sample, uint64_t samples) const;
    std::vector<char> buffer; ///< One batch; unused if the input has none.
  };

  void bind(npz::Arrays &arrays, const Binding &input,
            std::vector<std::string> &notes);
  void countSamples(const Column &column);
  void checkValues(const Column &column) const;
  std::string findValue(const std::vector<uint64_t> &indices,
                        bool infinite) const;
  void prepareTensors();

  std::vector<Column> columns;
  std::vector<mpc_tensor_t> tensors;
  std::string sampleArray; ///< Which array `samples` was counted in.
  uint64_t samples = 0, batch = 0;
  mutable std::string print; ///< The fingerprint, made once.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_DATASET_H
