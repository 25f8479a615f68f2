//===- ArrowType.h - The type of an Arrow column ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_ARROW_ARROWTYPE_H
#define MPC_TOOLS_MPC_DATA_ARROW_ARROWTYPE_H

#include "tools/arrow/Abi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// What a level of a type is. Lists contain the next level.
enum class ArrowKind {
  FixedList,  ///< "+w:3"
  List,       ///< "+l", offsets of 32 bits
  LargeList,  ///< "+L", offsets of 64 bits
  Dictionary, ///< Indices of values that are stored once: the next level.
  Bool,       ///< "b", bits
  Number,
  Text,      ///< "u", offsets of 32 bits
  LargeText, ///< "U", offsets of 64 bits
  TextView,  ///< "vu"
  Other,     ///< Not supported.
};

struct ArrowLevel {
  ArrowKind kind;
  /// The bytes of a number or of an index of a dictionary, or the length of the
  /// lists of a FixedList.
  int64_t size = 0;
};

/// What the values of a column of Arrow data are.
struct ArrowType {
  /// The length of lists that each have a length of their own.
  static constexpr int64_t kAnyLength = -1;

  std::vector<ArrowLevel> levels;
  std::string dtype;          ///< NumPy's name of numbers; "" for texts.
  std::vector<int64_t> shape; ///< The lengths of nested lists.
  std::string fault;          ///< Why mpc cannot read the column, or "".

  bool isText() const { return dtype.empty(); }
};

ArrowType describeArrowType(const ArrowSchema &schema);

/// The format of numbers or bools, by NumPy's name of their type; null if Arrow
/// has no such type.
const char *arrowFormatOf(const std::string &dtype);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_ARROW_ARROWTYPE_H
