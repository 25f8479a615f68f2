//===- Text.h - Tables and numbers for users --------------------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_TEXT_TEXT_H
#define MPC_COMPILER_REPORT_TEXT_TEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::report {

/// Replaces control characters, which could manipulate the terminal, with '?',
/// and invalid UTF-8 with U+FFFD.
std::string printable(llvm::StringRef text);

/// 12345678 -> "12.3 M".
std::string shorten(uint64_t value);
/// The same, followed by "B".
std::string inBytes(uint64_t bytes);
/// "12.3 %".
std::string share(uint64_t part, uint64_t whole);
/// "2 casts", "1 cast".
std::string count(uint64_t number, llvm::StringRef noun);

/// The number of terminal columns that the text takes.
size_t columns(llvm::StringRef text);
/// Shortens the text to at most `width` columns, with "..." for the part that
/// is removed from the middle or from the end.
std::string cutMiddle(llvm::StringRef text, size_t width);
/// The same for "name (type)": removes the type first.
std::string cutName(llvm::StringRef text, size_t width);
std::string cutEnd(llvm::StringRef text, size_t width);
/// Breaks the text into lines of at most `width` columns, except for wider
/// words; returns at least one line.
std::vector<std::string> wrap(llvm::StringRef text, size_t width);
/// Prints the text with line breaks, each line indented by `indent` spaces.
void printWrapped(llvm::raw_ostream &os, llvm::StringRef text, size_t indent,
                  size_t width);

/// Aligned columns that fit a terminal. Shortens names first, then prose; if
/// that does not suffice, drops extra columns, the last first.
class Table {
public:
  enum Fit {
    Left,
    Right,
    Name, ///< Left-aligned; shortened in the middle.
    Prose ///< Left-aligned; cut at its end, or as Overflow says.
  };
  struct Column {
    std::string title;
    Fit fit = Left;
    bool isExtra = false; ///< Dropped if the terminal is too narrow.
    size_t least = 16;    ///< Minimum width of a shortened name.
  };
  using Row = std::vector<std::string>;

  explicit Table(std::vector<Column> columns) : layout(std::move(columns)) {}

  void add(Row row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.empty(); }

  /// What happens to prose in the last column if rows are wider than `width`:
  /// it is cut, goes to separate lines, or wraps in its column.
  enum class Overflow { Cut, Below, Wrap };
  void print(llvm::raw_ostream &os, size_t width,
             Overflow overflow = Overflow::Cut);

private:
  std::vector<size_t> naturalWidths(size_t count) const;
  bool dropExtra(size_t width, Overflow overflow);

  std::vector<Column> layout;
  std::vector<Row> rows;
};

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_TEXT_TEXT_H
