//===- Complete.cpp - Completion of a report ------------------------------===//
//
// Adds recomputation, devices, the module of each op, and the summary to the
// report that mpc-report-precision wrote.
//
//===----------------------------------------------------------------------===//

#include "compiler/Report/Model/Complete.h"

#include "compiler/Report/Model/Modules.h"
#include "compiler/Report/Model/Rules.h"
#include "compiler/Report/Model/Summary.h"
#include "compiler/Support/UserInput/Json.h"

#include "compiler/Support/Precision/Precisions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mpc;
using llvm::StringRef;

static llvm::json::Object toJson(const KernelResources &kernel) {
  return llvm::json::Object{{"name", kernel.kernel},
                            {"registers", kernel.registers},
                            {"stack", kernel.stack},
                            {"spill_stores", kernel.spillStores},
                            {"spill_loads", kernel.spillLoads},
                            {"shared", kernel.shared}};
}

/// The rates of a machine, with one rate for the 16-bit format of the program.
static llvm::json::Object toJson(const Machine &machine, StringRef precision) {
  llvm::json::Object rates;
  for (const std::string &line : textOf(machine)) {
    auto [key, value] = StringRef(line).split('=');
    double rate = 0;
    if (key != "name" && key != "device" && !value.getAsDouble(rate))
      rates[key.str()] = rate;
  }
  return llvm::json::Object{
      {"rates", std::move(rates)},
      {"name", llvm::json::fixUTF8(machine.name)},
      {"bytes_per_ns", machine.bytes},
      {"flops_per_ns",
       llvm::json::Object{
           {"f32", machine.f32},
           {"tf32", machine.tf32},
           {"16bit", precisionOf(precision).tensors == Format::F16
                         ? machine.f16
                         : machine.bf16},
           {"8bit", machine.fp8}}}};
}

static llvm::json::Object toJson(const DeviceReport &device,
                                 StringRef precision) {
  llvm::json::Value parts = llvm::cantFail(llvm::json::parse(device.kernels));
  llvm::json::Object &object = *parts.getAsObject();
  object["device"] = device.device;
  // f64 is only for gradient checks, not for training.
  if (precisionOf(precision).wide == Format::F32)
    object["machine"] = toJson(device.machine, precision);
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

/// Writes an object with its keys in order, as llvm::json does, and an
/// additional `key`, whose value `write` writes.
static void writeWith(llvm::json::OStream &json, const llvm::json::Object &rest,
                      StringRef key, llvm::function_ref<void()> write) {
  std::vector<StringRef> keys = {key};
  for (const auto &entry : rest)
    keys.push_back(entry.first);
  llvm::sort(keys);
  json.object([&] {
    for (StringRef next : keys) {
      json.attributeBegin(next);
      if (next == key)
        write();
      else
        json.value(*rest.get(next));
      json.attributeEnd();
    }
  });
}

namespace {

/// Completes the entries of functions, op by op: all ops of a large program as
/// JSON objects would take gigabytes.
class FunctionReports {
public:
  explicit FunctionReports(const std::map<std::string, std::string> &modules)
      : modules(modules), stream(text), json(stream) {}

  void complete(StringRef list) {
    json.array([&] {
      for (auto [key, function] : splitJson(list))
        completeFunction(function);
    });
  }

  std::vector<report::Function> functions;
  const std::map<std::string, std::string> &modules;
  std::string text; ///< The list, completed.

private:
  void completeFunction(StringRef function) {
    llvm::json::Object head;
    std::vector<std::pair<StringRef, StringRef>> ops;
    for (auto [key, value] : splitJson(function))
      if (key == "ops")
        ops = splitJson(value);
      else
        head[key] = llvm::cantFail(llvm::json::parse(value));
    report::FunctionReader reader(head, ops.size());
    writeWith(json, head, "ops", [&] {
      json.array([&] {
        for (auto [key, op] : ops) {
          llvm::json::Value value = llvm::cantFail(llvm::json::parse(op));
          describe(*value.getAsObject());
          reader.add(*value.getAsObject());
          json.value(value);
        }
      });
    });
    functions.push_back(reader.take());
  }

  /// Adds the module and phase of an op, and the id of its rule.
  void describe(llvm::json::Object &op) {
    StringRef node = op.getString("node").value_or("");
    op["module"] = moduleOf(node);
    op["phase"] = report::nameOf(report::phaseOf(node));
    if (!op.get("rule_id")) // Written by an earlier version.
      op["rule_id"] = report::oldRuleId(op.getString("rule").value_or(""),
                                        op.getString("reason").value_or(""));
  }

  std::string moduleOf(StringRef node) {
    node.consume_back(kGradientSuffix);
    auto found = modules.find(node.str());
    // The model file may hold any bytes there; JSON must be UTF-8.
    return found == modules.end() ? report::modulePath(node)
                                  : llvm::json::fixUTF8(found->second);
  }

  llvm::raw_string_ostream stream;
  llvm::json::OStream json;
};

} // namespace

std::string mpc::completeReport(
    StringRef text, StringRef recomputed, llvm::ArrayRef<DeviceReport> devices,
    const std::map<std::string, std::string> &modules,
    llvm::ArrayRef<std::string> others, llvm::ArrayRef<int64_t> batches) {
  llvm::json::Object object;
  FunctionReports functions(modules);
  for (auto [key, value] : splitJson(text))
    if (key == "functions")
      functions.complete(value);
    else
      object[key] = llvm::cantFail(llvm::json::parse(value));
  llvm::json::Array list;
  for (const DeviceReport &device : devices)
    list.push_back(toJson(device, object.getString("precision").value_or("")));
  object["devices"] = std::move(list);
  if (!others.empty())
    object["other_devices"] = llvm::json::Array(others);
  if (batches.size() > 1)
    object["batches"] = llvm::json::Array(batches);
  if (!recomputed.empty())
    object["recompute"] = llvm::cantFail(llvm::json::parse(recomputed));
  report::Report report = llvm::cantFail(
      report::readJson(std::move(object), std::move(functions.functions)));
  llvm::json::Object &rest = *report.json.getAsObject();
  rest["summary"] = report::summaryJson(report);
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  llvm::json::OStream json(stream);
  writeWith(json, rest, "functions", [&] { json.rawValue(functions.text); });
  return printed;
}
