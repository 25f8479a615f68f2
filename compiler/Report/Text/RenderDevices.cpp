//===- RenderDevices.cpp - Kernels and transposes of each device ----------===//

#include "compiler/Report/Text/Render.h"
#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mpc::report;
using llvm::StringRef;
using llvm::json::Object;

static void printTransposes(llvm::raw_ostream &os, const std::string &name,
                            const Object &device, size_t width) {
  Table table(
      {{"kernel"}, {"bytes", Table::Right}, {"origin"}, {"node", Table::Name}});
  uint64_t bytes = 0, transposes = 0, layout = 0;
  for (const Object *transpose : objectsAt(device, "transposes")) {
    if (!isTrainingEntry(textAt(*transpose, "function")))
      continue;
    ++transposes;
    layout += textAt(*transpose, "origin") == "layout";
    bytes += static_cast<uint64_t>(numberAt(*transpose, "bytes"));
    table.add({textAt(*transpose, "kernel"),
               inBytes(numberAt(*transpose, "bytes")),
               textAt(*transpose, "origin"), textAt(*transpose, "node")});
  }
  if (table.empty()) {
    printWrapped(os, name + ": no kernel of a step only transposes", 0, width);
    return;
  }
  printWrapped(os,
               name + ": " + count(transposes, "transpose") + " in a step, " +
                   inBytes(bytes) + " read and written, " +
                   std::to_string(layout) + " to put channels last or first",
               0, width);
  table.print(os, width);
}

/// The number of times that a step launches a kernel.
static int64_t launchesOf(const Object &kernel) {
  if (const Object *counts = kernel.getObject("launches"))
    for (const auto &[function, value] : *counts)
      if (isTrainingEntry(function))
        return value.getAsInteger().value_or(0);
  return 0;
}

static void printResources(llvm::raw_ostream &os, const std::string &name,
                           const Object &architecture,
                           llvm::ArrayRef<const Object *> kernels,
                           size_t width) {
  if (!architecture.getBoolean("assembled").value_or(false)) {
    printWrapped(
        os,
        name + ": registers, spills and shared memory of " +
            count(kernels.size(), "kernel") +
            " are unknown, because 'ptxas' was not on the path at compile time",
        0, width);
    return;
  }
  llvm::StringMap<const Object *> assembled;
  for (const Object *kernel : objectsAt(architecture, "kernels"))
    assembled[textAt(*kernel, "name")] = kernel;
  Table table({{"kernel"},
               {"launches", Table::Right},
               {"registers", Table::Right},
               {"spilled bytes", Table::Right},
               {"shared bytes", Table::Right},
               {"node", Table::Name}});
  int64_t registers = 0, shared = 0, spilling = 0;
  for (const Object *kernel : kernels) {
    Table::Row row = {textAt(*kernel, "name"),
                      std::to_string(launchesOf(*kernel))};
    const Object *said = assembled.lookup(row[0]);
    for (const char *key : {"registers", "spill_stores", "shared"}) {
      int64_t value = said ? numberAt(*said, key) : -1;
      row.push_back(value < 0 ? "?" : std::to_string(value));
    }
    row.push_back(textAt(*kernel, "node"));
    table.add(std::move(row));
    if (!said)
      continue;
    registers = std::max(registers, numberAt(*said, "registers"));
    shared = std::max(shared, numberAt(*said, "shared"));
    spilling += numberAt(*said, "spill_stores") > 0;
  }
  printWrapped(os,
               name + ": " + count(kernels.size(), "kernel") + ", at most " +
                   std::to_string(registers) + " registers in a thread and " +
                   inBytes(shared) + " of shared memory in a block, " +
                   (spilling == 0 ? "none" : std::to_string(spilling)) +
                   (spilling > 1 ? " spill" : " spills"),
               0, width);
  table.print(os, width);
}

void mpc::report::printDevices(llvm::raw_ostream &os, const Report &report,
                               size_t width) {
  for (const Object *device :
       objectsAt(*report.json.getAsObject(), "devices")) {
    std::string name = textAt(*device, "device");
    if (llvm::none_of(report.devices,
                      [&](const Device &shown) { return shown.name == name; }))
      continue;
    os << '\n';
    printTransposes(os, name, *device, width);
    for (const Object *architecture : objectsAt(*device, "architectures"))
      printResources(os, name + ' ' + textAt(*architecture, "name"),
                     *architecture, objectsAt(*device, "kernels"), width);
  }
}
