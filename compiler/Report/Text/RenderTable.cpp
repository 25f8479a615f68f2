//===- RenderTable.cpp - Table of ops -------------------------------------===//

#include "compiler/Report/Model/Modules.h"
#include "compiler/Report/Text/Render.h"
#include "compiler/Report/Text/Text.h"
#include "compiler/Support/UserInput/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

bool Selection::contains(const Op &op) const {
  if (!module.empty() && !liesIn(op.module, module))
    return false;
  switch (kind) {
  case All:
    return true;
  case Wide:
    return op.isWide();
  case Low:
    return !op.isWide();
  case Casts:
    return op.castsIn + op.castsOut > 0;
  }
  return true;
}

/// The principal function, unless the user selects another.
static llvm::Expected<std::vector<const Function *>>
selectMain(const Report &report, const Selection &selection) {
  if (selection.function.empty() && report.principal())
    return std::vector<const Function *>{report.principal()};
  return selectFunctions(report, selection);
}

llvm::Expected<std::vector<const Function *>>
mpc::report::selectFunctions(const Report &report, const Selection &selection) {
  std::vector<const Function *> functions;
  for (const Function &function : report.functions)
    if (selection.function.empty() || function.name == selection.function)
      functions.push_back(&function);
  if (functions.empty() && !selection.function.empty()) {
    std::vector<StringRef> names;
    for (const Function &function : report.functions)
      names.push_back(function.name);
    return malformed("has no function '" + selection.function + "'; it has '" +
                     llvm::join(names, "', '") + "'");
  }
  return functions;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

static Table::Row rowOf(const Op &op) {
  return {op.op,
          op.type.empty() ? op.node : op.node + " (" + op.type + ")",
          op.precisionClass,
          op.format(),
          op.sumType.empty() ? "-" : op.sumType,
          std::to_string(op.castsIn) + "/" + std::to_string(op.castsOut),
          op.rule,
          op.reason};
}

/// Returns the number of selected ops.
static size_t printOps(llvm::raw_ostream &os, const Function &function,
                       const Selection &selection, size_t width) {
  Table table({{"op", Table::Name, false, 20},
               {"node", Table::Name, false, 30},
               {"class", Table::Left, true},
               {"dtype"},
               {"sums", Table::Left, true},
               {"casts in/out", Table::Right, true},
               {"rule"},
               {"reason", Table::Prose}});
  size_t meant = 0;
  for (const Op &op : function.ops)
    if (selection.contains(op)) {
      table.add(rowOf(op));
      ++meant;
    }
  if (meant > 0 || function.ops.empty())
    table.print(os, width, Table::Overflow::Below);
  return meant;
}

/// "97.0 % of 2.1 kFLOP and 50.0 % of 1.2 kB in 16 bit".
static std::string describeLow(const Cost &cost) {
  return share(cost.lowFlops, cost.flops) + " of " + shorten(cost.flops) +
         "FLOP and " + share(cost.lowBytes, cost.bytes) + " of " +
         inBytes(cost.bytes) + " in 16 bit";
}

static void printTotals(llvm::raw_ostream &os, StringRef what,
                        const Cost &totals, uint64_t weightCasts,
                        size_t width) {
  printWrapped(os,
               what.str() + ": " + describeLow(totals) + ", " +
                   count(totals.casts, "cast") + ", " +
                   std::to_string(weightCasts) + " of weights",
               0, width);
}

llvm::Error mpc::report::printTables(llvm::raw_ostream &os,
                                     const Report &report,
                                     const Selection &selection, size_t width) {
  bool all = selection.kind == Selection::All;
  auto functions =
      all ? selectFunctions(report, selection) : selectMain(report, selection);
  if (!functions)
    return functions.takeError();
  for (const Function *function : *functions) {
    os << function->name << '\n';
    size_t meant = printOps(os, *function, selection, width);
    if (meant < function->ops.size())
      os << meant << " of " << count(function->ops.size(), "op") << '\n';
    printTotals(os, function->name, function->totals, function->weightCasts,
                width);
    os << '\n';
  }
  if (!all || !selection.function.empty())
    return llvm::Error::success();
  printTotals(os, "all functions", report.totals, report.weightCasts, width);
  printGroups(os, report, ~size_t(0), width);
  printDevices(os, report, width);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// One module
//===----------------------------------------------------------------------===//

llvm::Error mpc::report::printModule(llvm::raw_ostream &os,
                                     const Report &report,
                                     const Selection &selection, size_t width) {
  auto functions = selectMain(report, selection);
  if (!functions)
    return functions.takeError();
  bool found = false;
  for (const Function *function : *functions) {
    Cost cost;
    for (const Op &op : function->ops)
      if (liesIn(op.module, selection.module))
        cost += op.cost;
    if (cost.ops == 0)
      continue;
    found = true;
    os << function->name << '\n';
    printOps(os, *function, selection, width);
    printWrapped(
        os,
        selection.module + ": " + count(cost.ops, "op") + ", " +
            share(cost.flops, function->totals.flops) + " of the FLOP and " +
            share(cost.bytes, function->totals.bytes) + " of the bytes of '" +
            function->name + "'; " + describeLow(cost),
        0, width);
    os << '\n';
  }
  if (found)
    return llvm::Error::success();
  std::vector<StringRef> names;
  for (const Function *function : *functions)
    for (const Op &op : function->ops)
      if (!op.module.empty())
        names.push_back(op.module);
  return llvm::createStringError(
      "no op is in a module '" + selection.module + "'" +
      (names.empty() ? std::string("; the node names contain no modules")
                     : describeNearest(selection.module, names)));
}
