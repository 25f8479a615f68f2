//===- Summary.cpp - Summary of a report ----------------------------------===//

#include "compiler/Report/Model/Summary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace mpc::report;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

static constexpr size_t kExamples = 3;

//===----------------------------------------------------------------------===//
// Ops that stay f32
//===----------------------------------------------------------------------===//

std::string mpc::report::stemOf(const Op &op) {
  StringRef reason = op.reason;
  if (op.rule == "minimum cut")
    if (size_t at = reason.rfind("; "); at != StringRef::npos)
      reason = reason.drop_front(at + 2);
  if (op.rule == "user option" || op.rule == "precision")
    return reason.str();
  std::string stem;
  for (size_t i = 0; i < reason.size();) {
    size_t digits = reason.drop_front(i).take_while(llvm::isDigit).size();
    if (digits > 0 && reason.drop_front(i + digits).starts_with(" byte")) {
      stem += 'N';
      i += digits;
    } else {
      stem += reason[i++];
    }
  }
  return stem;
}

/// The groups of a function, in descending order of f32 bytes.
static std::vector<WideGroup> groupWide(const Function &function) {
  std::map<std::pair<StringRef, std::string>, std::vector<const Op *>> groups;
  for (const Op &op : function.ops)
    if (op.isWide())
      groups[{op.rule, stemOf(op)}].push_back(&op);
  std::vector<WideGroup> wide;
  for (auto &[key, ops] : groups) {
    WideGroup group{key.first.str(), ops.front()->ruleId, key.second, {}, {}};
    for (const Op *op : ops)
      group.cost += op->cost;
    llvm::stable_sort(ops, [](const Op *a, const Op *b) {
      return a->cost.bytes > b->cost.bytes;
    });
    for (const Op *op : ops)
      if (group.examples.size() < kExamples &&
          !llvm::is_contained(group.examples, op->node) && !op->node.empty())
        group.examples.push_back(op->node);
    wide.push_back(std::move(group));
  }
  llvm::stable_sort(wide, [](const WideGroup &a, const WideGroup &b) {
    return a.cost.bytes > b.cost.bytes;
  });
  return wide;
}

FunctionSummary mpc::report::summarize(const Function &function) {
  FunctionSummary summary;
  summary.function = &function;
  auto phaseOf = [&](const Op &op) -> Cost & {
    return summary.phases[static_cast<size_t>(op.phase)];
  };
  for (const Op &op : function.ops)
    phaseOf(op) += op.cost;
  for (auto [i, cast] : llvm::enumerate(function.casts)) {
    Cost cost;
    cost.casts = 1;
    cost.castBytes = cast.bytes;
    if (cast.isWeight)
      summary.weightCasts += cost;
    if (int64_t line = function.lineOf(i); line >= 0)
      phaseOf(function.ops[line]) += cost;
  }
  summary.rest = function.totals;
  for (const Cost &cost : summary.phases)
    summary.rest -= cost;
  summary.wide = groupWide(function);
  summary.modules = findModules(function);
  return summary;
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

/// llvm::json prints signed integers; no number of a real model exceeds them.
static int64_t number(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}

static Object costJson(const Cost &cost) {
  return Object{{"ops", number(cost.ops)},
                {"flops", number(cost.flops)},
                {"flops_16bit", number(cost.lowFlops)},
                {"flops_8bit", number(cost.fp8Flops)},
                {"flops_tf32", number(cost.tf32Flops)},
                {"bytes", number(cost.bytes)},
                {"bytes_16bit", number(cost.lowBytes)},
                {"casts", number(cost.casts)},
                {"cast_bytes", number(cost.castBytes)}};
}

static Array modulesJson(const std::vector<Module> &modules) {
  Array array;
  for (const Module &module : modules) {
    Object object = costJson(module.cost);
    object["name"] = module.label;
    object["path"] = module.path;
    object["times"] = number(module.times);
    object["modules"] = modulesJson(module.children);
    array.push_back(std::move(object));
  }
  return array;
}

static Object functionJson(const FunctionSummary &summary) {
  Object object = costJson(summary.function->totals);
  object["name"] = summary.function->name;
  object["weight_casts"] = number(summary.function->weightCasts);
  object["weight_cast_bytes"] = number(summary.weightCasts.castBytes);
  Object phases;
  for (Phase phase : kPhases)
    phases[nameOf(phase)] =
        costJson(summary.phases[static_cast<size_t>(phase)]);
  object["phases"] = std::move(phases);
  Array wide;
  for (const WideGroup &group : summary.wide) {
    Object entry = costJson(group.cost);
    entry["rule"] = group.rule;
    entry["rule_id"] = group.ruleId;
    entry["reason"] = group.reason;
    entry["examples"] = Array(group.examples);
    wide.push_back(std::move(entry));
  }
  object["wide"] = std::move(wide);
  object["modules"] = modulesJson(summary.modules);
  return object;
}

Object mpc::report::summaryJson(const Report &report) {
  Array functions;
  for (const Function &function : report.functions)
    functions.push_back(functionJson(summarize(function)));
  Array devices;
  for (const Device &device : report.devices) {
    Array entries;
    for (const Device::Entry &entry : device.entries) {
      Object line{{"name", entry.name},
                  {"launches", number(entry.launches)},
                  {"calls", number(entry.calls)},
                  {"bytes", number(entry.bytes)},
                  {"bytes_16bit", number(entry.lowBytes)},
                  {"bytes_8bit", number(entry.fp8Bytes)}};
      if (entry.time)
        line["time_ns"] = Object{{"f32", entry.time->wide},
                                 {"16bit", entry.time->low},
                                 {"8bit", entry.time->fp8}};
      entries.push_back(std::move(line));
    }
    Object line{{"device", device.name},
                {"entries", std::move(entries)},
                {"arena_bytes", number(device.arena)},
                {"state_bytes", number(device.states)}};
    if (device.rates)
      line["machine"] = device.rates->machine;
    devices.push_back(std::move(line));
  }
  return Object{{"functions", std::move(functions)},
                {"devices", std::move(devices)}};
}
