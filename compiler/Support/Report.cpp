//===- Report.cpp - The precision report ----------------------------------===//

#include "compiler/Support/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

#include <array>
#include <vector>

using namespace mpc;
using llvm::StringRef;

namespace {

constexpr size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

/// A column that is numeric stands at the right.
constexpr std::array<bool, kColumns> kRightAligned = {
    false, false, false, false, false, true, false, false};

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

static std::string text(const llvm::json::Object &object, StringRef key) {
  return object.getString(key).value_or("").str();
}

static int64_t number(const llvm::json::Object &object, StringRef key) {
  return object.getInteger(key).value_or(0);
}

/// Control characters could rewrite the terminal: they become '?'.
static std::string printable(std::string value) {
  unsigned char previous = 0;
  for (char &c : value) {
    auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F control as well; in UTF-8 they begin with 0xC2.
    if (byte < 0x20 || byte == 0x7f ||
        (previous == 0xc2 && byte >= 0x80 && byte <= 0x9f))
      c = '?';
    previous = byte;
  }
  return llvm::json::fixUTF8(value);
}

static Row makeRow(const llvm::json::Object &op) {
  std::string node = text(op, "node"), type = text(op, "type");
  std::string in = text(op, "operand_dtype"), out = text(op, "dtype");
  std::string accumulate = text(op, "accumulate_dtype");
  if (out.empty())
    out = in;
  Row row = {text(op, "op"),
             type.empty() ? node : node + " (" + type + ")",
             text(op, "class"),
             in.empty() || in == out ? out : in + " -> " + out,
             accumulate.empty() ? "-" : accumulate,
             std::to_string(number(op, "casts_in")) + "/" +
                 std::to_string(number(op, "casts_out")),
             text(op, "rule"),
             text(op, "reason")};
  for (std::string &cell : row)
    cell = printable(std::move(cell));
  return row;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static size_t columns(StringRef cell) {
  int width = llvm::sys::unicode::columnWidthUTF8(cell);
  return width < 0 ? cell.size() : width;
}

static void printTable(llvm::raw_ostream &os, const std::vector<Row> &rows) {
  std::array<size_t, kColumns> widths = {};
  for (const Row &row : rows)
    for (size_t i = 0; i < kColumns; ++i)
      widths[i] = std::max(widths[i], columns(row[i]));
  for (const Row &row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < kColumns; ++i) {
      std::string blanks(widths[i] - columns(row[i]), ' ');
      line +=
          ' ' + (kRightAligned[i] ? blanks + row[i] : row[i] + blanks) + ' ';
    }
    os << StringRef(line).rtrim() << '\n';
  }
}

/// 12345678 -> "12.3 M".
static std::string shorten(int64_t value) {
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

static std::string share(int64_t part, int64_t whole) {
  std::string result;
  llvm::raw_string_ostream os(result);
  double percent =
      whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole)
                : 0.0;
  os << llvm::format("%.1f %%", percent);
  return result;
}

static void printTotals(llvm::raw_ostream &os, StringRef what,
                        const llvm::json::Object *totals) {
  if (!totals)
    return;
  int64_t flops = number(*totals, "flops"), bytes = number(*totals, "bytes");
  os << what << ": " << share(number(*totals, "flops_16bit"), flops) << " of "
     << shorten(flops) << "FLOP and "
     << share(number(*totals, "bytes_16bit"), bytes) << " of " << shorten(bytes)
     << "B in 16 bit, " << number(*totals, "casts") << " casts, "
     << number(*totals, "weight_casts") << " of weights\n";
}

static llvm::Error malformed(const llvm::Twine &what) {
  return llvm::createStringError("the precision report " + what);
}

llvm::Expected<std::string> mpc::renderReport(StringRef json,
                                              StringRef function) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return malformed("is not JSON: " + llvm::toString(value.takeError()));
  const llvm::json::Object *report = value->getAsObject();
  const llvm::json::Array *functions =
      report ? report->getArray("functions") : nullptr;
  if (!functions)
    return malformed("has no functions");
  if (number(*report, "version") > kReportVersion)
    return malformed("has version " + llvm::Twine(number(*report, "version")) +
                     ", but this program reads versions up to " +
                     llvm::Twine(kReportVersion));

  std::string result;
  llvm::raw_string_ostream os(result);
  bool found = false;
  for (const llvm::json::Value &entry : *functions) {
    const llvm::json::Object *object = entry.getAsObject();
    const llvm::json::Array *ops = object ? object->getArray("ops") : nullptr;
    if (!ops)
      return malformed("has a function without ops");
    std::string name = printable(text(*object, "name"));
    if (!function.empty() && name != function)
      continue;
    found = true;

    std::vector<Row> rows = {{"op", "node", "class", "dtype", "sums",
                              "casts in/out", "rule", "reason"}};
    for (const llvm::json::Value &op : *ops) {
      if (!op.getAsObject())
        return malformed("has an op that is no object");
      rows.push_back(makeRow(*op.getAsObject()));
    }
    os << name << '\n';
    printTable(os, rows);
    printTotals(os, name, object->getObject("totals"));
    os << '\n';
  }
  if (!found && !function.empty())
    return malformed("has no function '" + function + "'");
  if (function.empty())
    printTotals(os, "all functions", report->getObject("totals"));
  return result;
}
