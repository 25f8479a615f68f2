//===- CsvParser.cpp - Records of a CSV file ------------------------------===//

#include "tools/mpc/data/sources/CsvParser.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <cstring>

using namespace mpc::tool;

namespace {
/// The state between two characters.
class State {
public:
  State(char separator) : separator(separator) {}

  /// Takes a character; true if it ends a record that is not empty.
  bool take(char c) {
    if (isQuoted) {
      if (c == '\n')
        ++line;
      if (c != '"')
        append(c);
      else
        isQuoted = false, wasQuote = true;
      return false;
    }
    bool isSecondQuote = c == '"' && wasQuote;
    wasQuote = false;
    if (isSecondQuote) { // "" within quotes is one quote.
      append(c);
      isQuoted = true;
    } else if (c == '"' && cell().empty()) {
      isQuoted = isEmpty = false;
      isQuoted = true;
    } else if (c == separator) {
      isEmpty = false;
      ++used;
      startCell();
    } else if (c == '\n') {
      return endLine();
    } else {
      append(c);
    }
    return false;
  }

  /// Ends the last line; true if it had a record.
  bool endLine() {
    ++line;
    if (!isEmpty && !cell().empty() && cell().back() == '\r')
      cell().pop_back();
    if (isEmpty || (used == 0 && cell() == "\r")) {
      restart();
      return false;
    }
    cells.resize(used + 1);
    return true;
  }

  /// Begins the next record.
  void restart() {
    used = 0;
    length = 0;
    isEmpty = true;
    firstLine = line;
    startCell();
  }

  std::vector<std::string> cells{1};
  uint64_t line = 1, firstLine = 1, length = 0;
  bool isQuoted = false;

private:
  void startCell() {
    if (cells.size() <= used)
      cells.emplace_back();
    cells[used].clear();
  }
  std::string &cell() { return cells[used]; }
  void append(char c) {
    cell() += c;
    ++length;
    isEmpty &= c == '\r';
  }

  const char separator;
  size_t used = 0;
  bool wasQuote = false, isEmpty = true;
};
} // namespace

void CsvParser::parse(const std::function<bool(const std::vector<std::string> &,
                                               uint64_t)> &visit) const {
  constexpr uint64_t chunk = 1 << 20;
  State state(separator);
  auto finish = [&] {
    bool goesOn = visit(state.cells, state.firstLine);
    state.restart();
    return goesOn;
  };
  for (uint64_t at = 0; at < file.size; at += chunk) {
    std::vector<char> bytes = file.read(at, std::min(chunk, file.size - at));
    size_t first = at == 0 && bytes.size() >= 3 &&
                           std::memcmp(bytes.data(), "\xef\xbb\xbf", 3) == 0
                       ? 3 // The byte order mark.
                       : 0;
    for (size_t i = first; i < bytes.size(); ++i)
      if (state.take(bytes[i]) && !finish())
        return;
    if (state.length > kMaxRecord)
      file.fail(format("the record in line %llu is longer than %llu bytes",
                       static_cast<unsigned long long>(state.firstLine),
                       static_cast<unsigned long long>(kMaxRecord)));
  }
  if (state.isQuoted)
    file.fail(format("line %llu: a quote is not closed",
                     static_cast<unsigned long long>(state.firstLine)));
  if (state.endLine())
    finish();
}
