//===- ArrowValues.h - The values of an Arrow column ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_ARROW_ARROWVALUES_H
#define MPC_TOOLS_MPC_DATA_ARROW_ARROWVALUES_H

#include "tools/arrow/Abi.h"
#include "tools/mpc/data/arrow/ArrowType.h"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace mpc::tool {

/// Walks through the values of a column, batch by batch. Lists must all have
/// the same lengths, and nothing may be null.
class ArrowValues {
public:
  /// Takes numbers, as little-endian bytes; bools are bytes of 0 and 1.
  using TakeNumbers = std::function<void(const char *bytes, size_t size)>;
  /// Takes a text of the current row.
  using TakeText =
      std::function<void(const std::string &text, const ArrowValues &)>;

  /// `column` names it in errors: "x.parquet: column 'a'". The first row
  /// determines those lengths of lists that the type does not contain.
  ArrowValues(std::string column, const ArrowType &type, TakeNumbers numbers,
              TakeText text)
      : column(std::move(column)), levels(type.levels), lengths(type.shape),
        takeNumbers(std::move(numbers)), takeText(std::move(text)) {}

  /// Visits the rows of the next batch. Throws a Failure that names the row if
  /// one is null, or a list has another length than in the first row.
  void visit(const ArrowArray &batch);

  int64_t numRows() const { return row; }
  const std::vector<int64_t> &shape() const { return lengths; }

  /// "x.parquet: column 'a' in row 17 (counted from 0)": the current row.
  std::string where() const;

private:
  /// Some elements of an array, which is a level of the type, and in `depth`
  /// lists.
  void visitRange(size_t level, size_t depth, const ArrowArray &array,
                  int64_t first, int64_t count);
  void visitList(size_t level, size_t depth, const ArrowArray &array,
                 int64_t begin, int64_t end);
  void requireNoNulls(const ArrowArray &array, int64_t first,
                      int64_t count) const;

  const std::string column;
  const std::vector<ArrowLevel> levels;
  std::vector<int64_t> lengths;
  const TakeNumbers takeNumbers;
  const TakeText takeText;
  int64_t row = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_ARROW_ARROWVALUES_H
