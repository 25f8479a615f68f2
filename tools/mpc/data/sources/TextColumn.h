//===- TextColumn.h - Values that are written as text -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_TEXTCOLUMN_H
#define MPC_TOOLS_MPC_DATA_SOURCES_TEXTCOLUMN_H

#include "tools/mpc/data/Elements.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace mpc::tool {

/// The names of classes, by arrays, in the order of their numbers.
using ClassNames = std::map<std::string, std::vector<std::string>>;

/// Finds out what the texts of a column are, and converts them to numbers: to
/// int64 if all are whole numbers, to float64 if all are numbers, and otherwise
/// to the numbers of classes, sorted by name.
class TextColumn {
public:
  /// The maximum number of classes.
  static constexpr size_t kMaxClasses = 1 << 16;

  /// Looks at the next text.
  void examine(const std::string &text);

  /// Ends the examination. If `given` names classes, their order counts.
  void finish(const std::vector<std::string> *given);

  const char *dtype() const { return kind == Real ? "float64" : "int64"; }

  /// Empty unless the column contains classes.
  const std::vector<std::string> &classes() const { return names; }

  /// Appends the value of a text to the elements. Throws a Failure that begins
  /// with `where` if it has none.
  void append(const std::string &text, const std::string &where,
              ElementsBuilder &elements) const;

private:
  enum { Whole, Real, Classes } kind = Whole;
  std::set<std::string> found;
  std::vector<std::string> names;
  std::map<std::string, int64_t> numbers;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_TEXTCOLUMN_H
