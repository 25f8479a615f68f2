//===- Data.cpp - A parsed report -----------------------------------------===//

#include "compiler/Report/Model/Data.h"

#include "compiler/Report/Model/Modules.h"
#include "compiler/Report/Model/Rules.h"
#include "compiler/Report/Text/Text.h"
#include "compiler/Report/Text/Time.h"
#include "compiler/Support/Machine/Machine.h"
#include "compiler/Support/Precision/Precisions.h"
#include "compiler/Support/Report.h"
#include "compiler/Support/UserInput/Json.h"

#include "llvm/Support/Format.h"

#include <algorithm>

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;
using llvm::json::Object;

//===----------------------------------------------------------------------===//
// Derived properties
//===----------------------------------------------------------------------===//

StringRef mpc::report::nameOf(Phase phase) {
  switch (phase) {
  case Phase::Forward:
    return "forward";
  case Phase::Backward:
    return "backward";
  case Phase::Update:
    return "update";
  }
  return "";
}

Phase mpc::report::phaseOf(StringRef node) {
  if (node.ends_with(kGradientSuffix))
    return Phase::Backward;
  return node == kOptimizerNode ? Phase::Update : Phase::Forward;
}

Cost &Cost::operator+=(const Cost &other) {
  ops += other.ops;
  flops += other.flops, lowFlops += other.lowFlops;
  fp8Flops += other.fp8Flops, tf32Flops += other.tf32Flops;
  bytes += other.bytes, lowBytes += other.lowBytes;
  casts += other.casts, castBytes += other.castBytes;
  return *this;
}

Cost &Cost::operator-=(const Cost &other) {
  // In an invalid report, the total may be less than its parts.
  auto subtract = [](uint64_t &from, uint64_t part) {
    from -= std::min(from, part);
  };
  subtract(ops, other.ops);
  subtract(flops, other.flops), subtract(lowFlops, other.lowFlops);
  subtract(fp8Flops, other.fp8Flops), subtract(tf32Flops, other.tf32Flops);
  subtract(bytes, other.bytes), subtract(lowBytes, other.lowBytes);
  subtract(casts, other.casts), subtract(castBytes, other.castBytes);
  return *this;
}

static bool isLowType(StringRef type) {
  return type.ends_with("16") || type.starts_with("f8");
}

StringRef Op::forwardNode() const {
  StringRef name = node;
  name.consume_back(kGradientSuffix);
  return name;
}

std::string Op::format() const {
  if (resultType.empty())
    return operandType;
  if (operandType.empty() || operandType == resultType)
    return resultType;
  return operandType + " -> " + resultType;
}

bool Op::isWide() const {
  return !isLowType(operandType) && !isLowType(resultType);
}

int64_t Function::lineOf(size_t cast) const {
  if (casts[cast].origin.op >= 0)
    return casts[cast].origin.op;
  for (auto [line, op] : llvm::enumerate(ops))
    for (const Operand &operand : op.operands)
      if (operand.cast == static_cast<int64_t>(cast))
        return static_cast<int64_t>(line);
  return -1;
}

std::string Report::title() const {
  std::string text = precision;
  if (!otherDevices.empty()) {
    auto names = llvm::map_range(
        devices, [](const Device &device) { return device.name; });
    text += " on " + llvm::join(names, " and ") + " (" +
            llvm::join(otherDevices, ", ") + ": separate reports)";
  }
  if (batches.size() > 1) {
    auto others = llvm::map_range(llvm::drop_begin(batches), [](int64_t size) {
      return std::to_string(size);
    });
    text += ", batch " + std::to_string(batches.front()) +
            " (not reported: batch " + llvm::join(others, ", ") + ")";
  }
  return text;
}

uint64_t Instruction::launchesIn(StringRef entry) const {
  for (const auto &[name, count] : launches)
    if (name == entry)
      return count;
  return 0;
}

const Function *Report::find(StringRef name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

uint64_t Recomputation::Course::peak() const {
  return bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end());
}

const Recomputation *Report::findRecomputation(StringRef function) const {
  for (const Recomputation &recomputation : recomputed)
    if (recomputation.function == function)
      return &recomputation;
  return nullptr;
}

const Function *Report::principal() const {
  for (const Function &function : functions)
    if (function.isTraining())
      return &function;
  return functions.empty() ? nullptr : &functions.front();
}

StringRef Report::lowName() const { return precisionOf(precision).label; }

StringRef Report::lowNameWithoutFp8() const {
  const Precision &row = precisionOf(precision);
  return row.layers == Precision::AllLayers ? factsOf(*row.tensors).name
                                            : row.label;
}

StringRef Report::wideName() const {
  return factsOf(precisionOf(precision).wide).name;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

llvm::Error mpc::report::malformed(const llvm::Twine &what) {
  return llvm::createStringError("the precision report " + what);
}

std::string mpc::report::textAt(const Object &object, StringRef key) {
  return printable(object.getString(key).value_or(""));
}

int64_t mpc::report::numberAt(const Object &object, StringRef key) {
  return object.getInteger(key).value_or(0);
}

std::vector<const Object *> mpc::report::objectsAt(const Object &object,
                                                   StringRef key) {
  std::vector<const Object *> objects;
  if (const llvm::json::Array *list = object.getArray(key))
    for (const llvm::json::Value &value : *list)
      if (const Object *entry = value.getAsObject())
        objects.push_back(entry);
  return objects;
}

static uint64_t countAt(const Object &object, StringRef key) {
  return std::max<int64_t>(0, numberAt(object, key));
}

/// The index at `key`, which must be less than `size`; -1 if there is none.
static int64_t indexAt(const Object &object, StringRef key, size_t size) {
  int64_t index = object.getInteger(key).value_or(-1);
  return index >= 0 && static_cast<uint64_t>(index) < size ? index : -1;
}

static Cost readCost(const Object &object) {
  Cost cost;
  cost.flops = countAt(object, "flops");
  cost.lowFlops = std::min(cost.flops, countAt(object, "flops_16bit"));
  cost.fp8Flops = std::min(cost.lowFlops, countAt(object, "flops_8bit"));
  cost.tf32Flops = std::min(cost.wideFlops(), countAt(object, "flops_tf32"));
  cost.bytes = countAt(object, "bytes");
  cost.lowBytes = std::min(cost.bytes, countAt(object, "bytes_16bit"));
  return cost;
}

static Origin readOrigin(const Object &object, size_t lines) {
  return {indexAt(object, "op", lines), textAt(object, "state"),
          object.getBoolean("input").value_or(false)};
}

/// Fills in shares for reports of earlier versions: FLOPs as those versions
/// counted them, bytes if all have one format.
static void guessShares(Op &op) {
  if (op.precisionClass == "low" && isLowType(op.operandType))
    op.cost.lowFlops = op.cost.flops;
  if (isLowType(op.operandType) && isLowType(op.resultType))
    op.cost.lowBytes = op.cost.bytes;
}

static Op readOp(const Object &object, size_t lines, size_t casts) {
  Op op;
  op.op = textAt(object, "op");
  op.node = textAt(object, "node");
  op.type = textAt(object, "type");
  op.precisionClass = textAt(object, "class");
  op.operandType = textAt(object, "operand_dtype");
  op.resultType = textAt(object, "dtype");
  op.sumType = textAt(object, "accumulate_dtype");
  op.castsIn = countAt(object, "casts_in");
  op.castsOut = countAt(object, "casts_out");
  op.rule = textAt(object, "rule");
  if (object.get("range"))
    op.range = textAt(object, "range");
  op.reason = textAt(object, "reason");
  // Reports of earlier versions have no ids.
  op.ruleId = object.get("rule_id") ? textAt(object, "rule_id")
                                    : oldRuleId(op.rule, op.reason).str();
  if (const llvm::json::Array *terms = object.getArray("terms"))
    for (const llvm::json::Value &name : *terms)
      op.terms.push_back(
          mpc::parseErrorPropagation(name.getAsString().value_or("")));
  op.module =
      object.get("module") ? textAt(object, "module") : modulePath(op.node);
  op.phase = phaseOf(op.node);
  op.cost = readCost(object);
  op.cost.ops = 1;
  if (!object.get("flops_16bit"))
    guessShares(op);
  for (const Object *input : objectsAt(object, "inputs"))
    op.operands.push_back({readOrigin(*input, lines), textAt(*input, "dtype"),
                           countAt(*input, "bytes"),
                           indexAt(*input, "cast", casts),
                           input->getBoolean("pinned").value_or(false)});
  return op;
}

FunctionReader::FunctionReader(const Object &head, size_t count)
    : count(count) {
  function.name = textAt(head, "name");
  for (const Object *cast : objectsAt(head, "casts"))
    function.casts.push_back({readOrigin(*cast, count), textAt(*cast, "from"),
                              textAt(*cast, "to"), countAt(*cast, "bytes"),
                              cast->getBoolean("weight").value_or(false)});
  if (const Object *totals = head.getObject("totals")) {
    function.totals = readCost(*totals);
    function.totals.casts = countAt(*totals, "casts");
    function.weightCasts = countAt(*totals, "weight_casts");
  }
  for (const Cast &cast : function.casts)
    function.totals.castBytes += cast.bytes;
  function.totals.ops = count;
  function.ops.reserve(count);
}

void FunctionReader::add(const Object &op) {
  function.ops.push_back(readOp(op, count, function.casts.size()));
}

static llvm::Expected<Function> readFunction(const llvm::json::Value &value) {
  const Object *object = value.getAsObject();
  const llvm::json::Array *ops = object ? object->getArray("ops") : nullptr;
  if (!ops)
    return malformed("has a function without ops");
  FunctionReader reader(*object, ops->size());
  for (const llvm::json::Value &op : *ops) {
    if (!op.getAsObject())
      return malformed("has an op that is not an object");
    reader.add(*op.getAsObject());
  }
  return reader.take();
}

static std::vector<uint64_t> countsAt(const Object &object, StringRef key) {
  std::vector<uint64_t> counts;
  if (const llvm::json::Array *list = object.getArray(key))
    for (const llvm::json::Value &count : *list)
      counts.push_back(std::max<int64_t>(0, count.getAsInteger().value_or(0)));
  return counts;
}

/// Nothing if a rate is not a valid divisor.
static std::optional<Rates> readRates(const Object &device) {
  const Object *machine = device.getObject("machine");
  const Object *flops = machine ? machine->getObject("flops_per_ns") : nullptr;
  if (!flops)
    return std::nullopt;
  auto at = [](const Object &object, StringRef key) {
    return object.getNumber(key).value_or(0);
  };
  Rates rates;
  rates.machine = textAt(*machine, "name");
  rates.bytes = at(*machine, "bytes_per_ns");
  rates.wide = at(*flops, "f32");
  // Earlier versions do not record it.
  rates.tf32 = flops->getNumber("tf32").value_or(rates.wide);
  rates.low = at(*flops, "16bit"), rates.fp8 = at(*flops, "8bit");
  for (double rate :
       {rates.bytes, rates.wide, rates.tf32, rates.low, rates.fp8})
    if (!(rate >= 1e-3 && rate <= 1e12))
      return std::nullopt;
  return rates;
}

static Device::Entry readEntry(const Object &object) {
  Device::Entry entry;
  entry.name = textAt(object, "name");
  entry.launches = countAt(object, "launches");
  entry.calls = countAt(object, "calls");
  entry.bytes = countAt(object, "bytes");
  entry.lowBytes = std::min(entry.bytes, countAt(object, "bytes_16bit"));
  entry.fp8Bytes = std::min(entry.lowBytes, countAt(object, "bytes_8bit"));
  entry.requiredBytes = countAt(object, "bytes_required");
  entry.liveStride = countAt(object, "live_stride");
  entry.liveBytes = countsAt(object, "live_bytes");
  entry.sequence = countsAt(object, "sequence");
  return entry;
}

static Recomputation readRecomputation(const Object &object) {
  auto courseAt = [&](StringRef key) {
    Recomputation::Course course;
    if (const Object *found = object.getObject(key))
      course = {countAt(*found, "ops"), countAt(*found, "kept_stride"),
                countsAt(*found, "kept_bytes")};
    return course;
  };
  Recomputation recomputation = {
      textAt(object, "function"), countAt(object, "forward_ops"),
      readCost(object), courseAt("before"), courseAt("after")};
  recomputation.cost.ops = countAt(object, "ops");
  return recomputation;
}

static Instruction readInstruction(const Object &object, StringRef name) {
  Instruction instruction;
  instruction.kernel = textAt(object, name);
  instruction.dtype = textAt(object, "dtype");
  instruction.node = textAt(object, "node");
  instruction.isGenerated = name == "name";
  instruction.flops = countAt(object, "flops");
  instruction.bytes = countAt(object, "bytes");
  auto wide = [&](StringRef key, uint64_t otherwise) {
    return object.get(key) ? countAt(object, key) : otherwise;
  };
  instruction.wideFlops = wide("flops_f32", instruction.flops);
  instruction.wideBytes = wide("bytes_f32", instruction.bytes);
  if (const Object *launches = object.getObject("launches"))
    for (const auto &[entry, value] : *launches)
      instruction.launches.push_back(
          {printable(entry.str()), countAt(*launches, entry)});
  return instruction;
}

/// The rates as mpc::textOf writes them; none if they are not complete.
static std::vector<std::string> readMachineText(const Object &device) {
  std::vector<std::string> lines;
  const Object *machine = device.getObject("machine");
  const Object *rates = machine ? machine->getObject("rates") : nullptr;
  if (!rates)
    return {};
  lines = {"name=" + textAt(*machine, "name"),
           "device=" + textAt(device, "device")};
  for (const auto &[key, value] : *rates)
    if (auto rate = value.getAsNumber()) {
      std::string text;
      llvm::raw_string_ostream(text) << llvm::format("%.17g", *rate);
      lines.push_back(key.str() + "=" + text);
    }
  Machine known;
  return readMachine(lines, known).empty() ? lines : std::vector<std::string>();
}

Device mpc::report::readDevice(const Object &object) {
  Device device;
  device.name = textAt(object, "device");
  device.rates = readRates(object);
  device.arena = countAt(object, "arena_bytes");
  device.unsharedArena = countAt(object, "arena_bytes_unshared");
  device.states = countAt(object, "state_bytes");
  device.machine = readMachineText(object);
  for (const Object *entry : objectsAt(object, "entries"))
    device.entries.push_back(readEntry(*entry));
  for (const Object *kernel : objectsAt(object, "kernels"))
    if (kernel->get("bytes")) // Earlier versions do not record it.
      device.instructions.push_back(readInstruction(*kernel, "name"));
  for (const Object *call : objectsAt(object, "library_calls"))
    device.instructions.push_back(readInstruction(*call, "kernel"));
  return device;
}

static std::vector<std::string> textsAt(const Object &object, StringRef key) {
  std::vector<std::string> list;
  if (const llvm::json::Array *texts = object.getArray(key))
    for (const llvm::json::Value &value : *texts)
      if (std::optional<StringRef> text = value.getAsString())
        list.push_back(printable(*text));
  return list;
}

static ParameterGroup readGroup(const Object &object) {
  ParameterGroup group;
  group.rate = object.getNumber("lr_factor").value_or(1);
  group.decay = object.getNumber("weight_decay").value_or(0);
  group.parameters = textsAt(object, "parameters");
  return group;
}

llvm::Expected<Report> mpc::report::read(StringRef json) {
  if (nestsDeeply(json))
    return malformed("is nested too deeply");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return malformed("is not JSON: " + llvm::toString(value.takeError()));
  return readJson(std::move(*value));
}

llvm::Expected<Report> mpc::report::readJson(llvm::json::Value json) {
  const Object *object = json.getAsObject();
  const llvm::json::Array *functions =
      object ? object->getArray("functions") : nullptr;
  if (!functions)
    return malformed("has no functions");
  if (numberAt(*object, "version") > kReportVersion)
    return malformed("has version " +
                     llvm::Twine(numberAt(*object, "version")) +
                     ", but this program reads versions up to " +
                     llvm::Twine(kReportVersion));
  const llvm::json::Value *devices = object->get("devices");
  if (devices && !devices->getAsArray())
    return malformed("has devices that are not a list");
  std::vector<Function> read;
  for (const llvm::json::Value &entry : *functions) {
    llvm::Expected<Function> function = readFunction(entry);
    if (!function)
      return function.takeError();
    read.push_back(std::move(*function));
  }
  return readJson(std::move(json), std::move(read));
}

llvm::Expected<Report> mpc::report::readJson(llvm::json::Value json,
                                             std::vector<Function> functions) {
  const Object *object = json.getAsObject();
  Report report;
  report.model = textAt(*object, "model");
  report.precision = textAt(*object, "precision");
  report.functions = std::move(functions);
  if (const Object *totals = object->getObject("totals")) {
    report.totals = readCost(*totals);
    report.totals.casts = countAt(*totals, "casts");
    report.weightCasts = countAt(*totals, "weight_casts");
  }
  for (const Object *recomputation : objectsAt(*object, "recompute"))
    report.recomputed.push_back(readRecomputation(*recomputation));
  for (const Object *device : objectsAt(*object, "devices"))
    report.devices.push_back(readDevice(*device));
  report.otherDevices = textsAt(*object, "other_devices");
  if (const llvm::json::Array *sizes = object->getArray("batches"))
    for (const llvm::json::Value &size : *sizes)
      report.batches.push_back(size.getAsInteger().value_or(0));
  estimateTimes(report);
  for (const Object *group : objectsAt(*object, "groups"))
    report.groups.push_back(readGroup(*group));
  report.json = std::move(json);
  return report;
}
