//===- ArrowStream.h - Read and write with Apache Arrow ---------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_ARROW_ARROWSTREAM_H
#define MPC_TOOLS_MPC_DATA_ARROW_ARROWSTREAM_H

#include "tools/arrow/ArrowFiles.h"

#include <string>

namespace mpc::tool {

/// A structure of Arrow's C data interface, which is released in the end.
template <typename Structure> struct ArrowOwned : Structure {
  ArrowOwned() : Structure() {}
  ArrowOwned(const ArrowOwned &) = delete;
  ArrowOwned &operator=(const ArrowOwned &) = delete;
  ~ArrowOwned() { reset(); }

  void reset() {
    if (this->release)
      this->release(this);
    this->release = nullptr;
  }
};

/// One column of a Parquet or Arrow file, in batches of rows. Errors are
/// Failures that begin with the path.
class ArrowStream {
public:
  /// `column` is an index, or arrow::kTypesOnly for the types of all columns.
  /// Loads libmpcarrow; throws a Failure that says what to do if there is none.
  ArrowStream(const std::string &path, int64_t column);

  /// A struct with a child for each column.
  void readSchema(ArrowSchema &schema);

  /// The next rows: a struct with the column; false after the last.
  bool readNext(ArrowOwned<ArrowArray> &rows);

  int64_t numRows() const { return rows; }

private:
  void check(int error);

  const std::string path;
  ArrowOwned<ArrowArrayStream> stream;
  int64_t rows = 0;
};

/// Throws a Failure that says what to do if libmpcarrow cannot be loaded;
/// `what` is what needs it: "writing 'x.parquet'".
void requireArrow(const std::string &what);

/// The bytes of a Parquet file with the contents of a stream; `path` names it
/// in errors.
std::string formatParquetFile(const std::string &path,
                              ArrowOwned<ArrowArrayStream> &stream);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_ARROW_ARROWSTREAM_H
