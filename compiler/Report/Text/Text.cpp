//===- Text.cpp - Tables and numbers for users ----------------------------===//

#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"

#include <algorithm>
#include <array>
#include <numeric>

using namespace mpc::report;
using llvm::StringRef;

static constexpr size_t kGap = 2;
/// Minimum width of prose.
static constexpr size_t kLeastProse = 24;

//===----------------------------------------------------------------------===//
// Words and numbers
//===----------------------------------------------------------------------===//

std::string mpc::report::printable(StringRef text) {
  std::string value = text.str();
  unsigned char previous = 0;
  for (char &c : value) {
    auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F are control characters, too; in UTF-8 they begin with
    // 0xC2.
    if (byte < 0x20 || byte == 0x7f ||
        (previous == 0xc2 && byte >= 0x80 && byte <= 0x9f))
      c = '?';
    previous = byte;
  }
  return llvm::json::fixUTF8(value);
}

std::string mpc::report::shorten(uint64_t value) {
  static const std::array<const char *, 5> units = {" ", " k", " M", " G",
                                                    " T"};
  double scaled = static_cast<double>(value);
  size_t unit = 0;
  while (scaled >= 1000 && unit + 1 < units.size()) {
    scaled /= 1000;
    ++unit;
  }
  std::string result;
  llvm::raw_string_ostream os(result);
  os << llvm::format(unit == 0 ? "%.0f" : "%.1f", scaled) << units[unit];
  return result;
}

std::string mpc::report::inBytes(uint64_t bytes) {
  return shorten(bytes) + "B";
}

std::string mpc::report::share(uint64_t part, uint64_t whole) {
  std::string result;
  llvm::raw_string_ostream os(result);
  double percent =
      whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole)
                : 0.0;
  os << llvm::format("%.1f %%", percent);
  return result;
}

std::string mpc::report::count(uint64_t number, StringRef noun) {
  return (llvm::Twine(number) + " " + noun + (number == 1 ? "" : "s")).str();
}

size_t mpc::report::columns(StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : width;
}

/// The longest prefix, or suffix, that is at most `width` columns wide and does
/// not split a character.
static StringRef beginning(StringRef text, size_t width) {
  size_t size = std::min(text.size(), 4 * width);
  auto isInside = [&] {
    return size < text.size() &&
           (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80;
  };
  while (size > 0 && (isInside() || columns(text.take_front(size)) > width))
    --size;
  return text.take_front(size);
}

static StringRef ending(StringRef text, size_t width) {
  size_t from = text.size() - std::min(text.size(), 4 * width);
  auto isInside = [&] {
    return from < text.size() &&
           (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80;
  };
  while (from < text.size() &&
         (isInside() || columns(text.drop_front(from)) > width))
    ++from;
  return text.drop_front(from);
}

std::string mpc::report::cutMiddle(StringRef text, size_t width) {
  if (columns(text) <= width)
    return text.str();
  size_t kept = width > 3 ? width - 3 : 0;
  // Ends of names are more informative than beginnings.
  return (beginning(text, kept / 2) + "..." + ending(text, kept - kept / 2))
      .str();
}

std::string mpc::report::cutName(StringRef text, size_t width) {
  size_t type = text.ends_with(")") ? text.rfind(" (") : StringRef::npos;
  if (columns(text) > width && type != StringRef::npos)
    text = text.take_front(type);
  return cutMiddle(text, width);
}

std::string mpc::report::cutEnd(StringRef text, size_t width) {
  if (columns(text) <= width)
    return text.str();
  return (beginning(text, width > 3 ? width - 3 : 0).rtrim() + "...").str();
}

std::vector<std::string> mpc::report::wrap(StringRef text, size_t width) {
  std::vector<std::string> lines(1);
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(text, words, " ");
  for (StringRef word : words) {
    if (!lines.back().empty() &&
        columns(lines.back()) + 1 + columns(word) > width)
      lines.emplace_back();
    if (!lines.back().empty())
      lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

void mpc::report::printWrapped(llvm::raw_ostream &os, StringRef text,
                               size_t indent, size_t width) {
  for (const std::string &line : wrap(text, width - std::min(width, indent)))
    os.indent(line.empty() ? 0 : indent) << line << '\n';
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// Widths of the first `count` columns.
std::vector<size_t> Table::naturalWidths(size_t count) const {
  std::vector<size_t> widths;
  for (size_t i = 0; i < count; ++i) {
    widths.push_back(columns(layout[i].title));
    for (const Row &row : rows)
      widths[i] = std::max(widths[i], columns(row[i]));
  }
  return widths;
}

/// Shrinks the widest columns by `excess` in total, down to the minimum that
/// `leastOf` returns.
template <typename LeastFn>
static void shrink(std::vector<size_t> &widths, size_t excess,
                   LeastFn leastOf) {
  for (; excess > 0; --excess) {
    size_t *widest = nullptr;
    for (auto [i, width] : llvm::enumerate(widths))
      if (width > leastOf(i) && (!widest || width > *widest))
        widest = &width;
    if (!widest)
      return;
    --*widest;
  }
}

/// Drops one column if rows are too wide even when shortened. Returns false if
/// there is nothing to drop.
bool Table::dropExtra(size_t width, Overflow overflow) {
  std::vector<size_t> widths = naturalWidths(layout.size());
  if (overflow == Overflow::Below)
    widths.pop_back();
  size_t least = kGap * widths.size();
  for (auto [i, natural] : llvm::enumerate(widths))
    least += layout[i].fit == Name    ? std::min(natural, layout[i].least)
             : layout[i].fit == Prose ? std::min(natural, kLeastProse)
                                      : natural;
  for (size_t i = layout.size(); least > width && i-- > 0;) {
    if (!layout[i].isExtra)
      continue;
    layout.erase(layout.begin() + i);
    for (Row &row : rows)
      row.erase(row.begin() + i);
    return true;
  }
  return false;
}

void Table::print(llvm::raw_ostream &os, size_t width, Overflow overflow) {
  while (dropExtra(width, overflow)) {
  }
  size_t count = layout.size();
  std::vector<size_t> widths = naturalWidths(count);
  auto excess = [&] {
    size_t total = std::accumulate(widths.begin(), widths.end(), size_t(0)) +
                   kGap * widths.size();
    return total > width ? total - width : 0;
  };
  bool isBelow = overflow == Overflow::Below && excess() > 0;
  if (isBelow)
    widths = naturalWidths(--count);
  shrink(widths, excess(), [&](size_t i) {
    return layout[i].fit == Name ? layout[i].least : SIZE_MAX;
  });
  shrink(widths, excess(), [&](size_t i) {
    return layout[i].fit == Prose ? kLeastProse : SIZE_MAX;
  });

  auto printLine = [&](auto textOf) {
    std::string line;
    for (size_t i = 0; i < count; ++i) {
      StringRef text = textOf(i);
      std::string cell = layout[i].fit == Name ? cutName(text, widths[i])
                                               : cutEnd(text, widths[i]);
      std::string blanks(widths[i] - std::min(widths[i], columns(cell)), ' ');
      line += std::string(kGap, ' ') +
              (layout[i].fit == Right ? blanks + cell : cell + blanks);
    }
    os << StringRef(line).rtrim() << '\n';
  };
  printLine([&](size_t i) -> StringRef { return layout[i].title; });
  for (const Row &row : rows) {
    std::vector<std::string> prose = {row.back()};
    if (overflow == Overflow::Wrap)
      prose = wrap(row.back(), widths.back());
    printLine([&](size_t i) -> StringRef {
      return i + 1 == layout.size() ? prose.front() : row[i];
    });
    for (const std::string &more : llvm::drop_begin(prose))
      printLine([&](size_t i) -> StringRef {
        return i + 1 == layout.size() ? StringRef(more) : "";
      });
    if (isBelow)
      printWrapped(os, row.back(), 3 * kGap, width);
  }
}
