//===- Html.cpp - A report as an HTML page --------------------------------===//

#include "compiler/Report/Html/Html.h"

#include "compiler/Report/Cost/Estimate.h"
#include "compiler/Report/Html/Page.h"
#include "compiler/Report/Model/Summary.h"
#include "compiler/Report/Text/Text.h"

#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;

/// llvm::json prints signed integers.
static int64_t number(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
}

static Array countsJson(llvm::ArrayRef<uint64_t> counts) {
  Array array;
  for (uint64_t count : counts)
    array.push_back(number(count));
  return array;
}

static Object operandJson(const Operand &operand) {
  Object object{{"dtype", operand.dtype},
                {"bytes", number(operand.bytes)},
                {"op", operand.origin.op},
                {"cast", operand.cast},
                {"pinned", operand.isPinned}};
  if (!operand.origin.state.empty())
    object["state"] = operand.origin.state;
  if (operand.origin.isInput)
    object["input"] = true;
  return object;
}

/// The nonempty bins of the histogram.
static Object histogramJson(const ProfiledTensor &tensor, int64_t exponent) {
  llvm::ArrayRef<uint64_t> bins = tensor.exponents;
  while (!bins.empty() && bins.back() == 0)
    bins = bins.drop_back();
  for (; !bins.empty() && bins.front() == 0; ++exponent)
    bins = bins.drop_front();
  return Object{{"first", exponent}, {"counts", countsJson(bins)}};
}

/// The measured results of an op.
static Array rangesJson(const Op &op, const Ranges &ranges) {
  Array tensors;
  for (const ProfiledTensor *tensor : ranges.of(op)) {
    Object object{
        {"count", number(tensor->count)},
        {"nans", number(tensor->nans)},
        {"infinities", number(tensor->infinities)},
        {"zeros", number(tensor->zeros)},
        {"largest", tensor->largest},
        {"smallest", tensor->smallest},
        {"exponents", histogramJson(*tensor, ranges.profile().firstExponent)}};
    if (tensor->sensitivity) {
      Object sensitivity;
      for (Format format : kProfiledFormats)
        sensitivity[StringRef(factsOf(format).name)] =
            tensor->sensitivity->of(format);
      object["sensitivity"] = std::move(sensitivity);
    }
    tensors.push_back(std::move(object));
  }
  return tensors;
}

static Object opJson(const Op &op, const Ranges *ranges) {
  Array inputs;
  for (const Operand &operand : op.operands)
    inputs.push_back(operandJson(operand));
  Object object{{"op", op.op},
                {"node", op.node},
                {"type", op.type},
                {"class", op.precisionClass},
                {"module", op.module},
                {"phase", nameOf(op.phase)},
                {"operand_dtype", op.operandType},
                {"dtype", op.resultType},
                {"accumulate_dtype", op.sumType},
                {"casts_in", number(op.castsIn)},
                {"casts_out", number(op.castsOut)},
                {"rule", op.rule},
                {"rule_id", op.ruleId},
                {"reason", op.reason},
                {"flops", number(op.cost.flops)},
                {"bytes", number(op.cost.bytes)},
                {"bytes_16bit", number(op.cost.lowBytes)},
                {"inputs", std::move(inputs)}};
  if (ranges)
    object["ranges"] = rangesJson(op, *ranges);
  return object;
}

static Object functionJson(const Function &function, const Ranges *ranges) {
  Array ops, wide;
  for (const Op &op : function.ops)
    ops.push_back(opJson(op, ranges));
  for (const WideGroup &group : summarize(function).wide)
    wide.push_back(Object{{"ops", number(group.cost.ops)},
                          {"bytes", number(group.cost.bytes)},
                          {"rule_id", group.ruleId},
                          {"reason", group.reason},
                          {"examples", Array(group.examples)}});
  const Cost &cost = function.totals;
  return Object{{"name", function.name},
                {"weight_casts", number(function.weightCasts)},
                {"cost", Object{{"flops", number(cost.flops)},
                                {"flops_16bit", number(cost.lowFlops)},
                                {"flops_8bit", number(cost.fp8Flops)},
                                {"flops_tf32", number(cost.tf32Flops)},
                                {"bytes", number(cost.bytes)},
                                {"bytes_16bit", number(cost.lowBytes)},
                                {"casts", number(cost.casts)},
                                {"cast_bytes", number(cost.castBytes)}}},
                {"wide", std::move(wide)},
                {"ops", std::move(ops)}};
}

/// The instructions that are estimated to take longest, as texts.
static Object costOfEntry(const Device &device, const Device::Entry &entry,
                          const Machine &machine) {
  constexpr size_t kMostRows = 12;
  EntryEstimate estimate = estimateEntry(device, entry, machine);
  Array rows;
  for (const InstructionEstimate &row :
       llvm::ArrayRef(estimate.rows)
           .take_front(std::min(kMostRows, estimate.rows.size())))
    rows.push_back(Object{{"kernel", row.instruction->kernel},
                          {"dtype", row.instruction->dtype},
                          {"node", row.instruction->node},
                          {"launches", number(row.launches)},
                          {"limit", nameOf(row.limit())},
                          {"time", inTime(row.nanoseconds())},
                          {"share", row.nanoseconds() / estimate.nanoseconds}});
  return Object{{"time", inTime(estimate.nanoseconds)},
                {"bound", inTime(estimate.bound)},
                {"launches", number(estimate.launches)},
                {"machine", machine.name},
                {"rows", std::move(rows)}};
}

static Object deviceJson(const Device &device) {
  const std::optional<Machine> machine = machineOf(device);
  Array entries;
  for (const Device::Entry &entry : device.entries) {
    Object line{{"name", entry.name},
                {"live_stride", number(entry.liveStride)},
                {"live_bytes", countsJson(entry.liveBytes)}};
    if (entry.time)
      line["time"] = Object{{"f32", entry.time->wide},
                            {"16bit", entry.time->low},
                            {"8bit", entry.time->fp8},
                            {"multiplies_16bit", device.rates->multipliesLow()},
                            {"multiplies_8bit", device.rates->multipliesFp8()},
                            {"machine", device.rates->machine}};
    if (machine && !device.instructions.empty())
      line["cost"] = costOfEntry(device, entry, *machine);
    entries.push_back(std::move(line));
  }
  return Object{{"device", device.name},
                {"state_bytes", number(device.states)},
                {"arena_bytes", number(device.arena)},
                {"entries", std::move(entries)}};
}

static Object courseJson(const Recomputation::Course &course) {
  return Object{{"ops", number(course.ops)},
                {"stride", number(course.stride)},
                {"bytes", countsJson(course.bytes)}};
}

/// The limits of the formats that have a smaller range than f32.
static Object formatsJson() {
  Object formats;
  for (const FormatFacts &row : kFormats)
    if (row.leastExponent > factsOf(Format::F32).leastExponent)
      formats[StringRef(row.name)] =
          Object{{"largest", row.largest}, {"smallest", row.smallest()}};
  return formats;
}

/// The data for the script of the page.
static Object pageJson(const Report &report, const Ranges *ranges) {
  Array functions, devices, recomputed;
  for (const Function &function : report.functions)
    functions.push_back(functionJson(function, ranges));
  for (const Device &device : report.devices)
    devices.push_back(deviceJson(device));
  for (const Recomputation &again : report.recomputed)
    recomputed.push_back(Object{{"function", again.function},
                                {"ops", number(again.cost.ops)},
                                {"forward_ops", number(again.forwardOps)},
                                {"before", courseJson(again.before)},
                                {"after", courseJson(again.after)}});
  const Function *principal = report.principal();
  Object page{{"model", report.model},
              {"precision", report.title()},
              {"low", report.lowName()},
              {"low_alone", report.lowNameWithoutFp8()},
              {"wide", report.wideName()},
              {"formats", formatsJson()},
              {"principal", principal ? principal->name : ""},
              {"functions", std::move(functions)},
              {"devices", std::move(devices)},
              {"recompute", std::move(recomputed)}};
  if (ranges)
    page["profile"] = Object{
        {"file", printable(llvm::sys::path::filename(ranges->profile().path))},
        {"steps", number(ranges->profile().steps)}};
  return page;
}

std::string mpc::report::htmlPage(const Report &report, const Ranges *ranges) {
  std::string json;
  llvm::raw_string_ostream(json) << llvm::json::Value(pageJson(report, ranges));
  return fillPage(kReportPage, json);
}
