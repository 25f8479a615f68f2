//===- Report.cpp - The report of a compilation ---------------------------===//

#include "compiler/Support/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <vector>

using namespace mpc;
using llvm::StringRef;

/// The cells of a line of a table.
using Row = std::vector<std::string>;

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

/// Columns whose place in `rightAligned` is true stand at the right; those
/// after its end at the left.
static void printTable(llvm::raw_ostream &os, const std::vector<Row> &rows,
                       llvm::ArrayRef<bool> rightAligned) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], columns(row[i]));
  for (const Row &row : rows) {
    std::string line = " ";
    for (size_t i = 0; i < row.size(); ++i) {
      std::string blanks(widths[i] - columns(row[i]), ' ');
      bool right = i < rightAligned.size() && rightAligned[i];
      line += ' ' + (right ? blanks + row[i] : row[i] + blanks) + ' ';
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

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static llvm::json::Object toJson(const KernelResources &kernel) {
  return llvm::json::Object{{"name", kernel.kernel},
                            {"registers", kernel.registers},
                            {"stack", kernel.stack},
                            {"spill_stores", kernel.spillStores},
                            {"spill_loads", kernel.spillLoads},
                            {"shared", kernel.shared}};
}

static llvm::json::Object toJson(const DeviceReport &device) {
  llvm::json::Value parts = llvm::cantFail(llvm::json::parse(device.kernels));
  llvm::json::Object &object = *parts.getAsObject();
  object["device"] = device.device;
  if (device.architectures.empty())
    return std::move(object);
  llvm::json::Array architectures;
  for (const ArchitectureReport &architecture : device.architectures) {
    llvm::json::Array kernels;
    for (const KernelResources &kernel : architecture.kernels)
      kernels.push_back(toJson(kernel));
    architectures.push_back(
        llvm::json::Object{{"name", architecture.name},
                           {"assembled", architecture.assembled},
                           {"kernels", std::move(kernels)}});
  }
  object["architectures"] = std::move(architectures);
  return std::move(object);
}

std::string mpc::addDevices(StringRef report,
                            llvm::ArrayRef<DeviceReport> devices) {
  llvm::json::Value value = llvm::cantFail(llvm::json::parse(report));
  llvm::json::Array list;
  for (const DeviceReport &device : devices)
    list.push_back(toJson(device));
  (*value.getAsObject())["devices"] = std::move(list);
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

/// The objects in the list at `key`, none if it is absent.
static std::vector<const llvm::json::Object *>
objectsAt(const llvm::json::Object &object, StringRef key) {
  std::vector<const llvm::json::Object *> objects;
  if (const llvm::json::Array *list = object.getArray(key))
    for (const llvm::json::Value &value : *list)
      if (const llvm::json::Object *entry = value.getAsObject())
        objects.push_back(entry);
  return objects;
}

static std::string count(size_t number, StringRef noun) {
  return (llvm::Twine(number) + " " + noun + (number == 1 ? "" : "s")).str();
}

/// The entry point that runs once for each batch of training.
static bool isTraining(StringRef function) {
  return function == "step" || function == "accumulate";
}

static std::string inBytes(int64_t bytes) { return shorten(bytes) + "B"; }

static void printTransposes(llvm::raw_ostream &os, const std::string &name,
                            const llvm::json::Object &device) {
  std::vector<Row> rows = {{"kernel", "bytes", "origin", "node"}};
  uint64_t bytes = 0; // A report that lies must not overflow.
  for (const llvm::json::Object *transpose : objectsAt(device, "transposes")) {
    if (!isTraining(text(*transpose, "function")))
      continue;
    bytes += static_cast<uint64_t>(number(*transpose, "bytes"));
    rows.push_back({printable(text(*transpose, "kernel")),
                    inBytes(number(*transpose, "bytes")),
                    printable(text(*transpose, "origin")),
                    printable(text(*transpose, "node"))});
  }
  if (rows.size() == 1) {
    os << name << ": no kernel of a step does nothing but transpose\n";
    return;
  }
  size_t layout =
      llvm::count_if(rows, [](const Row &row) { return row[2] == "layout"; });
  os << name << ": " << count(rows.size() - 1, "transpose") << " in a step, "
     << inBytes(static_cast<int64_t>(bytes)) << " read and written, " << layout
     << " to put channels last or first\n";
  printTable(os, rows, {false, true});
}

/// How often a step launches a kernel.
static int64_t launchesOf(const llvm::json::Object &kernel) {
  if (const llvm::json::Object *counts = kernel.getObject("launches"))
    for (const auto &[function, value] : *counts)
      if (isTraining(function))
        return value.getAsInteger().value_or(0);
  return 0;
}

static void printResources(llvm::raw_ostream &os, const std::string &name,
                           const llvm::json::Object &architecture,
                           llvm::ArrayRef<const llvm::json::Object *> kernels) {
  os << name << ": ";
  if (!architecture.getBoolean("assembled").value_or(false)) {
    os << "registers, spills and shared memory of "
       << count(kernels.size(), "kernel")
       << " are not known, for 'ptxas' was not on the path when this was "
          "compiled\n";
    return;
  }
  llvm::StringMap<const llvm::json::Object *> assembled;
  for (const llvm::json::Object *kernel : objectsAt(architecture, "kernels"))
    assembled[text(*kernel, "name")] = kernel;
  std::vector<Row> rows = {{"kernel", "launches", "registers", "spilled bytes",
                            "shared bytes", "node"}};
  int64_t registers = 0, shared = 0, spilling = 0;
  for (const llvm::json::Object *kernel : kernels) {
    Row row = {text(*kernel, "name"), std::to_string(launchesOf(*kernel))};
    const llvm::json::Object *said = assembled.lookup(row[0]);
    for (const char *key : {"registers", "spill_stores", "shared"}) {
      int64_t value = said ? number(*said, key) : -1;
      row.push_back(value < 0 ? "?" : std::to_string(value));
    }
    row.push_back(text(*kernel, "node"));
    for (std::string &cell : row)
      cell = printable(std::move(cell));
    rows.push_back(std::move(row));
    if (!said)
      continue;
    registers = std::max(registers, number(*said, "registers"));
    shared = std::max(shared, number(*said, "shared"));
    spilling += number(*said, "spill_stores") > 0;
  }
  os << count(kernels.size(), "kernel") << ", at most " << registers
     << " registers in a thread and " << inBytes(shared)
     << " of shared memory in a block, "
     << (spilling == 0 ? "none" : std::to_string(spilling))
     << (spilling > 1 ? " spill\n" : " spills\n");
  printTable(os, rows, {false, true, true, true, true});
}

static void printDevices(llvm::raw_ostream &os,
                         const llvm::json::Object &report) {
  for (const llvm::json::Object *device : objectsAt(report, "devices")) {
    std::string name = printable(text(*device, "device"));
    os << '\n';
    printTransposes(os, name, *device);
    for (const llvm::json::Object *architecture :
         objectsAt(*device, "architectures"))
      printResources(os, name + ' ' + printable(text(*architecture, "name")),
                     *architecture, objectsAt(*device, "kernels"));
  }
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

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

  const llvm::json::Value *devices = report->get("devices");
  if (devices && !devices->getAsArray())
    return malformed("has devices that are no list");

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
    printTable(os, rows, {false, false, false, false, false, true});
    printTotals(os, name, object->getObject("totals"));
    os << '\n';
  }
  if (!found && !function.empty())
    return malformed("has no function '" + function + "'");
  if (function.empty()) {
    printTotals(os, "all functions", report->getObject("totals"));
    printDevices(os, *report);
  }
  return result;
}
