//===- Diff.cpp - Differences between two reports -------------------------===//

#include "compiler/Report/Compare/Diff.h"

#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mpc::report;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

/// Maximum number of node names per line.
static constexpr size_t kExamples = 3;

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

namespace {
/// In the order in which they are printed.
using Properties = std::vector<std::pair<std::string, std::string>>;
} // namespace

static void addCost(Properties &properties, const std::string &name,
                    const Cost &cost) {
  auto add = [&](StringRef what, uint64_t value) {
    properties.emplace_back((name + ": " + what).str(), std::to_string(value));
  };
  add("ops", cost.ops);
  add("FLOP", cost.flops);
  add("FLOP in 16 bit", cost.lowFlops);
  add("bytes", cost.bytes);
  add("bytes in 16 bit", cost.lowBytes);
  add("casts", cost.casts);
  add("bytes of casts", cost.castBytes);
}

static Properties propertiesOf(const Report &report) {
  Properties properties = {{"precision", report.precision}};
  for (const Function &function : report.functions) {
    addCost(properties, function.name, function.totals);
    properties.emplace_back(function.name + ": casts of weights",
                            std::to_string(function.weightCasts));
  }
  for (const Device &device : report.devices) {
    auto add = [&](const std::string &what, uint64_t value) {
      properties.emplace_back(device.name + ": " + what, std::to_string(value));
    };
    add("bytes of states", device.states);
    add("bytes of arena", device.arena);
    for (const Device::Entry &entry : device.entries) {
      add("generated kernels in " + entry.name, entry.launches);
      add("other kernels in " + entry.name, entry.calls);
    }
  }
  return properties;
}

static std::vector<PropertyChange> compare(const Properties &before,
                                           const Properties &after) {
  std::map<std::string, std::string> old(before.begin(), before.end());
  std::map<std::string, std::string> now(after.begin(), after.end());
  std::vector<PropertyChange> changes;
  for (const auto &[property, value] : before) {
    auto found = now.find(property);
    if (found == now.end() || found->second != value)
      changes.push_back(
          {property, value, found == now.end() ? "-" : found->second});
  }
  for (const auto &[property, value] : after)
    if (!old.count(property))
      changes.push_back({property, "-", value});
  return changes;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Node and kind of an op, and its number among equal ones.
using Key = std::tuple<std::string, std::string, size_t>;

static std::map<Key, const Op *> index(const Function *function) {
  std::map<Key, const Op *> ops;
  std::map<std::pair<StringRef, StringRef>, size_t> seen;
  if (function)
    for (const Op &op : function->ops)
      ops[{op.node, op.op, seen[{op.node, op.op}]++}] = &op;
  return ops;
}

/// Describes what changed between two ops; "" if nothing did.
static std::string describeChange(const Op &before, const Op &after) {
  llvm::SmallVector<std::string> parts;
  auto note = [&](StringRef what, const std::string &from,
                  const std::string &to) {
    if (from != to)
      parts.push_back((what + "'" + from + "' became '" + to + "'").str());
  };
  note("", before.format(), after.format());
  note("sums ", before.sumType, after.sumType);
  note("rule ", before.ruleId, after.ruleId);
  auto casts = [](const Op &op) {
    return std::to_string(op.castsIn) + "/" + std::to_string(op.castsOut);
  };
  note("casts ", casts(before), casts(after));
  note("FLOP ", std::to_string(before.cost.flops),
       std::to_string(after.cost.flops));
  // A change of format already implies one of bytes.
  if (parts.empty())
    note("bytes ", std::to_string(before.cost.bytes),
         std::to_string(after.cost.bytes));
  return llvm::join(parts, ", ");
}

static std::string nodeOf(const Op &op) {
  return op.node.empty() ? op.op : op.node;
}

static void compare(StringRef name, const Function *before,
                    const Function *after, std::vector<OpChange> &changes) {
  auto old = index(before), now = index(after);
  std::map<std::string, size_t> places;
  auto add = [&](const std::string &what, const Op &op) {
    auto [place, isNew] = places.try_emplace(what, changes.size());
    if (isNew)
      changes.push_back({name.str(), what, {}});
    changes[place->second].nodes.push_back(nodeOf(op));
  };
  auto gone = [](const Op &op) { return op.format() + " op was removed"; };
  auto isNew = [](const Op &op) { return op.format() + " op was added"; };
  for (const auto &[key, op] : old) {
    auto found = now.find(key);
    if (found == now.end())
      add(gone(*op), *op);
    else if (std::string what = describeChange(*op, *found->second);
             !what.empty())
      add(what, *op);
  }
  for (const auto &[key, op] : now)
    if (!old.count(key))
      add(isNew(*op), *op);
}

Difference mpc::report::compare(const Report &before, const Report &after) {
  Difference difference;
  difference.properties = ::compare(propertiesOf(before), propertiesOf(after));
  for (const Function &function : before.functions)
    ::compare(function.name, &function, after.find(function.name),
              difference.ops);
  for (const Function &function : after.functions)
    if (!before.find(function.name))
      ::compare(function.name, nullptr, &function, difference.ops);
  return difference;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void Difference::append(Difference other, StringRef device) {
  for (PropertyChange &change : other.properties) {
    change.property = (device + ": " + change.property).str();
    properties.push_back(std::move(change));
  }
  for (OpChange &change : other.ops) {
    change.function = (device + ": " + change.function).str();
    ops.push_back(std::move(change));
  }
}

void mpc::report::printDifference(llvm::raw_ostream &os,
                                  const Difference &difference, bool all,
                                  size_t width) {
  if (difference.empty()) {
    os << "no difference\n";
    return;
  }
  if (!difference.properties.empty()) {
    Table table(
        {{"", Table::Name}, {"before", Table::Right}, {"after", Table::Right}});
    for (const PropertyChange &change : difference.properties)
      table.add({change.property, change.before, change.after});
    table.print(os, width);
  }
  for (const OpChange &change : difference.ops) {
    os << '\n'
       << change.function << ": " << count(change.nodes.size(), "op") << ": "
       << change.what << '\n';
    size_t shown =
        all ? change.nodes.size() : std::min(change.nodes.size(), kExamples);
    for (const std::string &node :
         llvm::ArrayRef(change.nodes).take_front(shown))
      os << "  " << cutMiddle(node, width - 2) << '\n';
    if (shown < change.nodes.size())
      os << "  and " << change.nodes.size() - shown << " more (option 'all')\n";
  }
}

Object mpc::report::differenceJson(const Difference &difference) {
  Array properties, ops;
  for (const PropertyChange &change : difference.properties)
    properties.push_back(Object{{"property", change.property},
                                {"before", change.before},
                                {"after", change.after}});
  for (const OpChange &change : difference.ops)
    ops.push_back(Object{{"function", change.function},
                         {"change", change.what},
                         {"nodes", Array(change.nodes)}});
  return Object{{"differs", !difference.empty()},
                {"properties", std::move(properties)},
                {"ops", std::move(ops)}};
}
