//===- DataSource.h - Arrays of a file or a folder --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_DATASOURCE_H
#define MPC_TOOLS_MPC_DATA_SOURCES_DATASOURCE_H

#include "tools/mpc/data/Column.h"
#include "tools/mpc/data/augment/Augmentation.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// Data in one of the formats that mpc reads: arrays with names, whose first
/// dimension usually is the samples. Errors are Failures that begin with the
/// path.
class DataSource {
public:
  explicit DataSource(std::string path) : path(std::move(path)) {}
  virtual ~DataSource() = default;

  const std::string path;

  /// In the order of the file.
  virtual std::vector<std::string> names() const = 0;
  bool has(const std::string &name) const;

  /// Type and shape of an array, without its elements.
  virtual npz::ArrayType header(const std::string &name) const = 0;

  /// The array, perhaps in several parts that follow each other along the first
  /// dimension.
  virtual std::vector<StoredArray> read(const std::string &name) const = 0;

  /// Samples that are computed when a batch is gathered, as images are decoded;
  /// null if this source has none for the input. The column augments images.
  virtual std::unique_ptr<Column> makeColumn(const Binding &, const Scaling &,
                                             const Augmentation &) const {
    return nullptr;
  }

  /// Whether each array is a column of a table, so that several of them may
  /// make up the rows of one input.
  virtual bool isTable() const { return false; }

  /// The names of the classes whose numbers an array contains, if the file has
  /// names rather than numbers.
  virtual std::vector<std::string> classesOf(const std::string &) const {
    return {};
  }
};

/// The array as a whole; concatenates its parts. Those of a table may have
/// other types than the whole, which is int64 or float64 then.
StoredArray readWhole(const DataSource &source, const std::string &name);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_DATASOURCE_H
