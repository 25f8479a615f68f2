//===- RenderCost.cpp - Estimates as text and JSON ------------------------===//

#include "compiler/Report/Cost/RenderCost.h"

#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;
using llvm::json::Object;

static constexpr Limit kLimits[] = {Limit::Arithmetic, Limit::Memory,
                                    Limit::Launch};

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "matmul (bf16)".
static std::string titleOf(const Instruction &instruction) {
  return instruction.dtype.empty()
             ? instruction.kernel
             : instruction.kernel + " (" + instruction.dtype + ")";
}

static void printRows(llvm::raw_ostream &os, const EntryEstimate &estimate,
                      size_t most, size_t width) {
  Table table({{"share", Table::Right},
               {"time", Table::Right},
               {"launches", Table::Right},
               {"limit"},
               {"computes", Table::Right, true},
               {"moves", Table::Right, true},
               {"kernel"},
               {"node", Table::Name}});
  for (const InstructionEstimate &row :
       llvm::ArrayRef(estimate.rows).take_front(most)) {
    double launches = double(row.launches);
    table.add({percent(row.nanoseconds(), estimate.nanoseconds),
               inTime(row.nanoseconds()), std::to_string(row.launches),
               nameOf(row.limit()).str(),
               shorten(uint64_t(launches * row.work.flops)) + "FLOP",
               inBytes(uint64_t(launches * row.work.bytes)),
               titleOf(*row.instruction), row.instruction->node});
  }
  table.print(os, width);
  if (most >= estimate.rows.size())
    return;
  double rest = 0;
  for (const InstructionEstimate &row : llvm::drop_begin(estimate.rows, most))
    rest += row.nanoseconds();
  os << "  " << count(estimate.rows.size() - most, "more row") << " with "
     << inTime(rest) << " (option 'all')\n";
}

static void printEntry(llvm::raw_ostream &os, const EntryEstimate &estimate,
                       const Device &device, const Machine &machine,
                       size_t most, size_t width) {
  printWrapped(os,
               "'" + estimate.entry + "' on " + device.name + ": " +
                   inTime(estimate.nanoseconds) +
                   " (estimated from the rates of " + machine.name + ")",
               0, width);
  std::string parts;
  for (Limit limit : kLimits)
    parts += (parts.empty() ? "" : ", ") +
             percent(estimate.limitedBy[size_t(limit)], estimate.nanoseconds) +
             " in kernels limited by " + nameOf(limit).str();
  printWrapped(os,
               std::to_string(estimate.launches) +
                   (estimate.launches == 1 ? " launch, " : " launches, ") +
                   shorten(uint64_t(estimate.flops)) + "FLOP, " +
                   inBytes(uint64_t(estimate.bytes)) + " read and written; " +
                   parts,
               0, width);
  printWrapped(os,
               "Lower bound: " + inTime(estimate.bound) +
                   " (the products, or inputs and states once), " +
                   percent(estimate.bound, estimate.nanoseconds) +
                   " of the estimate",
               0, width);
  printRows(os, estimate, most, width);
}

/// The entry points to print.
static llvm::Expected<std::vector<const Device::Entry *>>
selectEntries(const Device &device, StringRef function) {
  std::vector<const Device::Entry *> entries;
  std::vector<std::string> known;
  for (const Device::Entry &entry : device.entries) {
    known.push_back(entry.name);
    bool trains = isTrainingEntry(entry.name) || entry.name == "apply";
    if (function.empty() ? trains : function == entry.name)
      entries.push_back(&entry);
  }
  if (!entries.empty())
    return entries;
  if (!function.empty())
    return llvm::createStringError("there is no function '" + function +
                                   "'; there are " + llvm::join(known, ", "));
  // A program that only predicts.
  for (const Device::Entry &entry : device.entries)
    entries.push_back(&entry);
  return entries;
}

llvm::Error mpc::report::printCost(llvm::raw_ostream &os, const Report &report,
                                   const Device &device, const Machine &machine,
                                   StringRef function, size_t most,
                                   size_t width) {
  auto entries = selectEntries(device, function);
  if (!entries)
    return entries.takeError();
  os << report.model << (report.model.empty() ? "" : ": ") << report.title()
     << '\n';
  for (const Device::Entry *entry : *entries) {
    os << '\n';
    printEntry(os, estimateEntry(device, *entry, machine), device, machine,
               most, width);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

static Object toJson(const InstructionEstimate &row) {
  const Instruction &instruction = *row.instruction;
  return Object{{"kernel", instruction.kernel},
                {"dtype", instruction.dtype},
                {"node", instruction.node},
                {"generated", instruction.isGenerated},
                {"launches", int64_t(row.launches)},
                {"flops", row.work.flops},
                {"bytes", row.work.bytes},
                {"time_ns", row.nanoseconds()},
                {"limit", nameOf(row.limit())}};
}

static Object toJson(const EntryEstimate &estimate) {
  llvm::json::Array rows;
  for (const InstructionEstimate &row : estimate.rows)
    rows.push_back(toJson(row));
  Object limits;
  for (Limit limit : kLimits)
    limits[nameOf(limit)] = estimate.limitedBy[size_t(limit)];
  return Object{{"name", estimate.entry},
                {"launches", int64_t(estimate.launches)},
                {"flops", estimate.flops},
                {"bytes", estimate.bytes},
                {"time_ns", estimate.nanoseconds},
                {"time_ns_by_limit", std::move(limits)},
                {"bound_ns", estimate.bound},
                {"instructions", std::move(rows)}};
}

Object mpc::report::costJson(const Device &device, const Machine &machine) {
  llvm::json::Array entries;
  for (const Device::Entry &entry : device.entries)
    entries.push_back(toJson(estimateEntry(device, entry, machine)));
  Object rates;
  for (const std::string &line : textOf(machine)) {
    auto [key, value] = StringRef(line).split('=');
    double number = 0;
    if (value.getAsDouble(number))
      rates[key.str()] = llvm::json::fixUTF8(value);
    else
      rates[key.str()] = number;
  }
  return Object{{"device", device.name},
                {"machine", std::move(rates)},
                {"entries", std::move(entries)}};
}
