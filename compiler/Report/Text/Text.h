//===- Text.h - Tables and numbers as people read them ----------*- C++ -*-===//
#ifndef MPC_COMPILER_REPORT_TEXT_TEXT_H
#define MPC_COMPILER_REPORT_TEXT_TEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::report {

/// Control characters could rewrite the terminal: they become '?'. What is not
/// UTF-8 becomes U+FFFD.
std::string printable(llvm::StringRef text);

/// 12345678 -> "12.3 M".
std::string shorten(uint64_t value);
/// The same with a "B" behind it.
std::string inBytes(uint64_t bytes);
/// "12.3 %".
std::string share(uint64_t part, uint64_t whole);
/// "2 casts", "1 cast".
std::string count(uint64_t number, llvm::StringRef noun);

/// How many columns a terminal gives the text.
size_t columns(llvm::StringRef text);
/// The text in at most `width` columns, "..." for what is left out: from the
/// middle, or from the end.
std::string cutMiddle(llvm::StringRef text, size_t width);
/// The same of "name (type)": the type goes first.
std::string cutName(llvm::StringRef text, size_t width);
std::string cutEnd(llvm::StringRef text, size_t width);
/// Words in lines of at most `width` columns, if none is wider; at least one.
std::vector<std::string> wrap(llvm::StringRef text, size_t width);
/// Prints words with line breaks, each line behind `indent` blanks.
void printWrapped(llvm::raw_ostream &os, llvm::StringRef text, size_t indent,
                  size_t width);

/// Aligned columns that fit a terminal. Names are shortened first, what can be
/// cut at its end then; extra columns, from the last on, go where that does not
/// suffice.
class Table {
public:
  enum Fit {
    Left,
    Right,
    Name, ///< At the left; shortened in the middle.
    Prose ///< At the left; cut at its end, or as Overflow says.
  };
  struct Column {
    std::string title;
    Fit fit = Left;
    bool isExtra = false; ///< Left out where the terminal is too narrow.
    size_t least = 16;    ///< What is left of a name however narrow it is.
  };
  using Row = std::vector<std::string>;

  explicit Table(std::vector<Column> columns) : layout(std::move(columns)) {}

  void add(Row row) { rows.push_back(std::move(row)); }
  bool empty() const { return rows.empty(); }

  /// Where the prose of the last column goes if rows are wider than `width`:
  /// nowhere, to lines of its own, or to more lines of its column.
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
