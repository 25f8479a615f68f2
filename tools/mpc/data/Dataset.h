//===- Dataset.h - Data for an entry point, in batches ----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_DATASET_H
#define MPC_TOOLS_MPC_DATA_DATASET_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/BatchLoader.h"
#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/data/sources/DataSource.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// Samples for one entry point. Arrays are matched with its inputs by name, or
/// as --map says; arrays that match no input are ignored.
class Dataset {
public:
  /// Opens the data and binds its arrays; throws a Failure that names the array
  /// and what is wrong. Notes conversions on stderr.
  Dataset(const DataOptions &options, const std::vector<Binding> &inputs);

  /// The same for arrays in memory; `notes` receives notes on conversions.
  Dataset(const std::string &path, npz::Arrays arrays,
          const std::vector<Binding> &inputs, std::vector<std::string> &notes);

  Dataset(const Dataset &) = delete;
  Dataset &operator=(const Dataset &) = delete;

  /// Removes a fraction of the samples, at least one, and returns them as a
  /// data set for an entry point with these inputs, of the same types. Which
  /// samples these are depends on the fraction and the number of samples only.
  std::unique_ptr<Dataset> holdOut(double fraction,
                                   const std::vector<Binding> &inputs);

  /// The same samples for an entry point with these inputs, of the same types,
  /// with batches of their own. Both data sets may be used at a time.
  std::unique_ptr<Dataset> view(const std::vector<Binding> &inputs) const;

  uint64_t numSamples() const { return part.empty() ? samples : part.size(); }
  uint64_t batchSize() const { return batch; }

  /// Changes the size of the batches to another one of the program's. Has no
  /// effect if the inputs have no batch dimension.
  void setBatchSize(uint64_t size);

  /// The tensors of one batch, in the order of the inputs; valid until the next
  /// call. Takes at least one and at most batchSize() indices below
  /// numSamples(); the rest of the batch repeats the last of them.
  const std::vector<mpc_tensor_t> &gather(const std::vector<uint64_t> &indices);

  /// The same for samples that are augmented, if the options say so.
  const std::vector<mpc_tensor_t> &gather(const SampleBatch &batch);

  /// Replaces the elements of an input, by its index, in all rows of the
  /// gathered batch from `first` on. The input has numbers of 32 or 64 bits.
  void fillRows(size_t input, uint64_t first, double value);

  /// Starts to gather a batch in the background if that takes long; the next
  /// call of gather() with the same samples returns it.
  void prefetch(const std::vector<uint64_t> &indices);
  void prefetch(const SampleBatch &batch);

  /// The indices of the samples of each class, by the numbers in `labels`,
  /// without labels that the loss ignores. Throws a Failure if there is no
  /// input `labels` with one class number for each sample.
  std::map<int64_t, std::vector<uint64_t>> membersOfClasses() const;

  /// Seconds that have been spent in gather().
  double secondsWaited() const { return waited; }

  /// The augmentation in its canonical form; "" if there is none.
  const std::string &augmentation() const { return augmented; }

  /// The names of the classes whose numbers inputs take, by inputs.
  const ClassNames &classes() const { return classNames; }

  /// A message if the loss ignores the labels of all these samples; otherwise
  /// "".
  std::string explainNoLabels(const std::vector<uint64_t> &indices) const;

  /// "in the data x[2,1] of data.npz is nan: ...": the first nan of these
  /// samples, or otherwise their first infinity, which may be intended, as in
  /// masks; "" if there is neither.
  std::string explainNonFinite(const std::vector<uint64_t> &indices) const;

  /// A line for each array with its name, type, shape and a checksum of parts
  /// of its contents. Different data can be recognized by it.
  std::string fingerprint() const;

  /// The names ("'x'") of arrays that have changed since fingerprint() returned
  /// `before`, or have been added or removed.
  std::vector<std::string> differencesFrom(const std::string &before) const;

  const std::string path;

private:
  /// Some samples of another data set, whose arrays are shared.
  Dataset(const Dataset &whole, std::string path,
          const std::vector<Binding> &inputs, std::vector<uint64_t> part);

  /// The positions of samples in the arrays; the last one is repeated to fill a
  /// batch.
  std::vector<uint64_t> rowsOf(const std::vector<uint64_t> &indices) const;
  SampleBatch rowsOfBatch(const SampleBatch &samples) const;

  void bind(const DataSource &source, const DataOptions &options,
            const std::vector<Binding> &inputs,
            std::vector<std::string> &notes);
  void addClasses(const DataSource &source, const std::string &array,
                  const std::string &input, std::vector<std::string> &notes);
  void countSamples(const Column &column);
  void prepareTensors();

  Columns columns;
  std::vector<std::vector<int64_t>> shapes; ///< One for each tensor.
  BatchBuffers buffers;
  /// Null if gathering is fast, or before the first prefetch.
  std::unique_ptr<BatchLoader> loader;
  double waited = 0;
  std::vector<mpc_tensor_t> tensors;
  std::string augmented;      ///< See augmentation().
  std::string sampleArray;    ///< The array that determined `samples`.
  uint64_t samples = 0;       ///< In the arrays.
  std::vector<uint64_t> part; ///< Those of this data set; empty: all.
  uint64_t batch = 0;
  ClassNames classNames;
  mutable std::string print; ///< The cached fingerprint.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_DATASET_H
