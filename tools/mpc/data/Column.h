//===- Column.h - The samples of one input ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_COLUMN_H
#define MPC_TOOLS_MPC_DATA_COLUMN_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/Elements.h"
#include "tools/mpc/data/Scaling.h"
#include "tools/mpc/data/augment/SampleBatch.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// The samples of one input of a program, in the order of the data. Several
/// threads may read at a time.
class Column {
public:
  explicit Column(Binding input) : input(std::move(input)) {}
  virtual ~Column() = default;

  const Binding input;

  /// Meaningless for an input without a batch dimension.
  virtual uint64_t numSamples() const = 0;

  /// Writes a batch of these rows. `batch` has the type and shape of the input,
  /// except for its batch dimension. An input without a batch dimension is
  /// written as a whole.
  virtual void gather(const SampleBatch &rows, char *batch) const = 0;

  /// The same as gather(), without what --scale and --normalize do.
  virtual void gatherUnscaled(const SampleBatch &rows, char *batch) const {
    gather(rows, batch);
  }

  /// Does to one sample what gatherUnscaled() leaves out.
  virtual void scale(char * /*sample*/) const {}

  /// The value of a white pixel, before it is scaled: 255 for images of uint8,
  /// and 1 for floats in [0, 1]. Throws a Failure if it is not known; `option`
  /// needs it: "--augment=color=0.4".
  virtual float findWhite(const std::string &option) const;

  /// Starts to read rows that will be gathered next, without waiting for them.
  virtual void prefetch(const SampleBatch &) const {}

  /// Whether gathering rows takes so long that it is worth a thread: they are
  /// in files, or computed.
  virtual bool isSlow() const = 0;

  /// Whether the loss ignores all labels that this column has for a sample.
  virtual bool ignores(uint64_t) const { return false; }

  /// "x[2,1] in data.npz" for the first nan (or infinity) of these samples; ""
  /// if there is none.
  virtual std::string findNonFinite(const std::vector<uint64_t> &,
                                    bool /*infinite*/) const {
    return "";
  }

  /// Type, shape and a checksum of parts of the contents: "f32[1500,8,8]
  /// 0123456789abcdef".
  virtual std::string fingerprint() const = 0;
};

/// Samples that are stored as an array, or as several that follow each other.
class StoredColumn : public Column {
public:
  /// The arrays must fit the input (see findArray) and may have another type.
  /// Throws a Failure if an element cannot be converted, or is not allowed by
  /// the input's range.
  StoredColumn(const Binding &input, std::vector<StoredArray> parts,
               Scaling scaling);

  uint64_t numSamples() const override { return samples; }
  void gather(const SampleBatch &rows, char *batch) const override;
  void prefetch(const SampleBatch &rows) const override;
  bool isSlow() const override;
  bool ignores(uint64_t row) const override;
  std::string findNonFinite(const std::vector<uint64_t> &rows,
                            bool infinite) const override;
  std::string fingerprint() const override;

  void gatherUnscaled(const SampleBatch &rows, char *batch) const override;
  void scale(char *sample) const override;
  /// The Failure names an element that has another type or value.
  float findWhite(const std::string &option) const override;

  /// What the conversion does to the values, for a note: "; its values, 0 to
  /// 255, are not scaled".
  const std::string &remark() const { return remarkText; }

  /// Moves all rows of a pass by the same random number of elements, below
  /// `limit`. Rows must have as many elements behind them.
  void shiftRows(uint64_t limit) { shiftLimit = limit; }

private:
  /// The number of elements by which the rows of a pass are moved.
  uint64_t shiftOf(const SampleBatch &batch, size_t index) const;

  /// Some samples of a row in the elements of one array.
  struct Place {
    size_t part;
    uint64_t first; ///< Index of an element.
  };
  Place placeOf(uint64_t row, uint64_t outerIndex) const;
  void checkConversions();
  void checkValues() const;

  std::vector<StoredArray> parts;
  std::vector<uint64_t> firstRows; ///< The first row of each part.
  std::vector<uint64_t> sizes;     ///< Bytes per element of each part.
  uint64_t samples = 0;
  /// Each array is viewed as [outer, samples, inner].
  uint64_t outer = 1, inner = 1;
  std::vector<Convert> converts; ///< For each part; null: the same type.
  const Scaling scaling;
  std::string remarkText;
  uint64_t shiftLimit = 1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_COLUMN_H
