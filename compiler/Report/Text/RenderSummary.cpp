//===- RenderSummary.cpp - Summary of a report as text --------------------===//

#include "compiler/Report/Model/Rules.h"
#include "compiler/Report/Model/Summary.h"
#include "compiler/Report/Text/Render.h"
#include "compiler/Report/Text/Text.h"
#include "compiler/Report/Text/Time.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mpc::report;
using llvm::StringRef;

/// Maximum lines for reasons and for modules, so that the summary fits on a
/// screen.
static constexpr size_t kMaxReasons = 8, kMaxModules = 14;

//===----------------------------------------------------------------------===//
// Shares by format
//===----------------------------------------------------------------------===//

static void addShares(Table &table, const std::string &name, const Cost &cost) {
  table.add({name, std::to_string(cost.ops), shorten(cost.flops) + "FLOP",
             share(cost.wideFlops(), cost.flops),
             share(cost.lowFlops, cost.flops), inBytes(cost.bytes),
             share(cost.wideBytes(), cost.bytes),
             share(cost.lowBytes, cost.bytes), std::to_string(cost.casts),
             inBytes(cost.castBytes)});
}

static void printShares(llvm::raw_ostream &os, const Report &report,
                        const FunctionSummary &summary, size_t width) {
  std::string wide = report.wideName().str(), low = report.lowName().str();
  Table table({{"", Table::Name},
               {"ops", Table::Right, true},
               {"computes", Table::Right},
               {wide, Table::Right},
               {low, Table::Right, true},
               {"moves", Table::Right},
               {wide, Table::Right},
               {low, Table::Right, true},
               {"casts", Table::Right},
               {"", Table::Right, true}});
  for (const Function &function : report.functions) {
    addShares(table, function.name, function.totals);
    if (&function != summary.function)
      continue;
    size_t used = llvm::count_if(summary.phases,
                                 [](const Cost &cost) { return cost.ops > 0; });
    if (used > 1)
      for (Phase phase : kPhases)
        addShares(table, "  " + nameOf(phase).str(),
                  summary.phases[static_cast<size_t>(phase)]);
    if (summary.rest.bytes > 0)
      addShares(table, "  commit", summary.rest);
  }
  table.print(os, width);
}

//===----------------------------------------------------------------------===//
// Ops that stay f32
//===----------------------------------------------------------------------===//

/// A table row: the number of ops, and their shares of the function.
static Table::Row rowOf(const Cost &cost, const Cost &whole, StringRef rule,
                        StringRef largest, StringRef reason) {
  return {std::to_string(cost.ops),
          share(cost.wideFlops(), whole.flops),
          share(cost.wideBytes(), whole.bytes),
          rule.str(),
          largest.str(),
          reason.str()};
}

static void printWide(llvm::raw_ostream &os, const Report &report,
                      const FunctionSummary &summary, size_t width) {
  const Cost &whole = summary.function->totals;
  os << "What stays " << report.wideName() << " in '" << summary.function->name
     << "'\n";
  Table table({{"ops", Table::Right},
               {"FLOP", Table::Right, true},
               {"bytes", Table::Right},
               {"rule"},
               {"largest", Table::Name, true},
               {"reason", Table::Prose}});
  Cost more, left = whole;
  left -= summary.rest;
  for (auto [i, group] : llvm::enumerate(summary.wide)) {
    left -= group.cost;
    if (i < kMaxReasons)
      table.add(rowOf(group.cost, whole, group.rule,
                      group.examples.empty() ? "" : group.examples.front(),
                      group.reason));
    else
      more += group.cost;
  }
  if (summary.wide.size() > kMaxReasons)
    table.add(rowOf(more, whole, "", "",
                    count(summary.wide.size() - kMaxReasons, "more reason") +
                        " (option 'only'=f32)"));
  if (left.lowBytes > 0)
    table.add(rowOf(left, whole, "", "",
                    "in ops with 16 bit: results, scales, arithmetic"));
  table.print(os, width, Table::Overflow::Wrap);
}

//===----------------------------------------------------------------------===//
// FP8
//===----------------------------------------------------------------------===//

/// Prints what is FP8, and why the rest is not.
static void printFp8(llvm::raw_ostream &os, const FunctionSummary &summary,
                     size_t width) {
  const Function &function = *summary.function;
  llvm::MapVector<StringRef, Cost> kept;
  uint64_t products = 0;
  for (const Op &op : function.ops) {
    products += op.cost.fp8Flops > 0;
    if (StringRef(op.ruleId).starts_with(kNotFp8Id))
      kept[StringRef(op.reason).drop_front(kNotFp8.size())] += op.cost;
  }
  if (products == 0 && kept.empty())
    return;
  const Cost &whole = function.totals;
  os << "\nFP8 in '" << function.name
     << "': " << share(whole.fp8Flops, whole.flops) << " of "
     << shorten(whole.flops) << "FLOP, in " << count(products, "product");
  if (kept.empty()) {
    os << '\n';
    return;
  }
  os << "; in 16 bit stay\n";
  Table table({{"products", Table::Right},
               {"FLOP", Table::Right, true},
               {"reason", Table::Prose}});
  for (const auto &[reason, cost] : kept)
    table.add({std::to_string(cost.ops), share(cost.flops, whole.flops),
               reason.str()});
  table.print(os, width, Table::Overflow::Wrap);
}

/// Prints the share of f32 operations that TF32 computes on devices that
/// support it.
static void printTf32(llvm::raw_ostream &os, const Function &function,
                      size_t width) {
  const Cost &whole = function.totals;
  if (whole.tf32Flops == 0)
    return;
  os << '\n';
  printWrapped(os,
               "TF32 in '" + function.name +
                   "': " + share(whole.tf32Flops, whole.flops) + " of " +
                   shorten(whole.flops) +
                   "FLOP, on f32 operands; CPUs compute them in f32",
               0, width);
}

//===----------------------------------------------------------------------===//
// Memory, launches, modules
//===----------------------------------------------------------------------===//

static void printMachine(llvm::raw_ostream &os, const Report &report,
                         const FunctionSummary &summary, size_t width) {
  const Cost &totals = summary.function->totals;
  auto say = [&](const std::string &text) { printWrapped(os, text, 0, width); };
  say("Casts in '" + summary.function->name +
      "': " + std::to_string(totals.casts) + ", " + inBytes(totals.castBytes) +
      " read and written; " + std::to_string(summary.function->weightCasts) +
      " of weights");
  if (const Recomputation *again =
          report.findRecomputation(summary.function->name))
    say("Recomputation in '" + again->function + "': at most " +
        inBytes(again->after.peak()) +
        " are saved for the backward pass instead of " +
        inBytes(again->before.peak()) + "; " + count(again->cost.ops, "op") +
        (again->cost.ops == 1 ? " is recomputed" : " are recomputed"));
  for (const Device &device : report.devices) {
    for (const Device::Entry &entry : device.entries)
      if (entry.time && entry.name == summary.function->name)
        say("Time of '" + entry.name + "' on " + device.name + ": " +
            describeTime(report, *device.rates, *entry.time));
    if (device.entries.empty() && device.arena == 0)
      continue;
    say("Memory on " + device.name + ": " + inBytes(device.states) +
        " of states, " + inBytes(device.arena) + " of arena (" +
        inBytes(device.unsharedArena) + " if no buffers shared memory)");
    llvm::SmallVector<std::string> entries;
    for (const Device::Entry &entry : device.entries)
      entries.push_back(entry.name + ' ' +
                        std::to_string(entry.launches + entry.calls) + " (" +
                        std::to_string(entry.launches) + " generated)");
    say("Launches on " + device.name + ": " + llvm::join(entries, ", "));
  }
}

void mpc::report::printGroups(llvm::raw_ostream &os, const Report &report,
                              size_t most, size_t width) {
  for (const ParameterGroup &group : report.groups) {
    size_t shown = std::min(most, group.parameters.size());
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << llvm::format(
                  "Group with %g times the learning rate and weight decay %g: ",
                  group.rate, group.decay)
           << count(group.parameters.size(), "parameter") << ": "
           << llvm::join(llvm::ArrayRef(group.parameters).take_front(shown),
                         ", ");
    if (shown < group.parameters.size())
      stream << " and " << group.parameters.size() - shown << " more";
    printWrapped(os, text, 0, width);
  }
}

static void printModules(llvm::raw_ostream &os, const FunctionSummary &summary,
                         size_t width) {
  const Cost &whole = summary.function->totals;
  Table table({{"Modules of '" + summary.function->name + "'", Table::Name},
               {"ops", Table::Right, true},
               {"FLOP", Table::Right},
               {"in 16 bit", Table::Right, true},
               {"bytes", Table::Right},
               {"in 16 bit", Table::Right},
               {"casts", Table::Right, true}});
  for (const ModuleRow &row : listModules(summary.modules, kMaxModules)) {
    std::string name(2 * row.depth, ' ');
    name += row.label;
    if (row.times > 1)
      name += ", " + std::to_string(row.times) + " times";
    const Cost &cost = row.cost;
    table.add({name, std::to_string(cost.ops), share(cost.flops, whole.flops),
               share(cost.lowFlops, cost.flops), share(cost.bytes, whole.bytes),
               share(cost.lowBytes, cost.bytes), std::to_string(cost.casts)});
  }
  if (!table.empty())
    table.print(os, width);
}

llvm::Error mpc::report::printSummary(llvm::raw_ostream &os,
                                      const Report &report,
                                      const Selection &selection,
                                      size_t width) {
  auto functions = selectFunctions(report, selection);
  if (!functions)
    return functions.takeError();
  const Function *function =
      selection.function.empty() ? report.principal() : functions->front();
  os << report.model << (report.model.empty() ? "" : ": ") << report.title()
     << '\n';
  if (!report.otherDevices.empty() && selection.canChooseDevice)
    os << "option 'device'=" << report.otherDevices.front()
       << " shows the other one\n";
  if (!function) {
    printDevices(os, report, width);
    return llvm::Error::success();
  }
  FunctionSummary summary = summarize(*function);
  os << '\n';
  printShares(os, report, summary, width);
  os << '\n';
  printWide(os, report, summary, width);
  printFp8(os, summary, width);
  printTf32(os, *summary.function, width);
  os << '\n';
  printMachine(os, report, summary, width);
  constexpr size_t kMaxNames = 4;
  printGroups(os, report, kMaxNames, width);
  os << '\n';
  printModules(os, summary, width);
  return llvm::Error::success();
}
