//===- Complete.cpp - What a report gets when all is compiled -------------===//
//
// What runs again, devices, the module of each op, and the summary. Until then
// the report is what mpc-report-precision wrote.
//
//===----------------------------------------------------------------------===//

#include "compiler/Report/Complete.h"

#include "compiler/Report/Modules.h"
#include "compiler/Report/Rules.h"
#include "compiler/Report/Summary.h"

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

/// Its rates, one for the 16-bit format of the program.
static llvm::json::Object toJson(const Machine &machine, StringRef precision) {
  return llvm::json::Object{
      {"name", machine.name},
      {"bytes_per_ns", machine.bytes},
      {"flops_per_ns",
       llvm::json::Object{
           {"f32", machine.f32},
           {"tf32", machine.tf32},
           {"16bit", precision == "fp16" ? machine.f16 : machine.bf16},
           {"8bit", machine.fp8}}}};
}

static llvm::json::Object toJson(const DeviceReport &device,
                                 StringRef precision) {
  llvm::json::Value parts = llvm::cantFail(llvm::json::parse(device.kernels));
  llvm::json::Object &object = *parts.getAsObject();
  object["device"] = device.device;
  // Nobody trains in f64: it is there to check gradients with.
  if (precision != "fp64")
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

/// Writes down module and phase of each op, and its rule as programs know it.
static void describeOps(llvm::json::Object &report,
                        const std::map<std::string, std::string> &modules) {
  auto moduleOf = [&](StringRef node) {
    node.consume_back(kGradientSuffix);
    auto found = modules.find(node.str());
    // The file may hold anything there; JSON may not.
    return found == modules.end() ? report::modulePath(node)
                                  : llvm::json::fixUTF8(found->second);
  };
  for (llvm::json::Value &function : *report.getArray("functions"))
    for (llvm::json::Value &op : *function.getAsObject()->getArray("ops")) {
      llvm::json::Object &object = *op.getAsObject();
      StringRef node = object.getString("node").value_or("");
      object["module"] = moduleOf(node);
      object["phase"] = report::nameOf(report::phaseOf(node));
      object["rule_id"] =
          report::ruleId(object.getString("rule").value_or(""),
                         object.getString("reason").value_or(""));
    }
}

std::string
mpc::completeReport(StringRef text, StringRef recomputed,
                    llvm::ArrayRef<DeviceReport> devices,
                    const std::map<std::string, std::string> &modules,
                    llvm::ArrayRef<std::string> others) {
  llvm::json::Value value = llvm::cantFail(llvm::json::parse(text));
  llvm::json::Object &object = *value.getAsObject();
  llvm::json::Array list;
  for (const DeviceReport &device : devices)
    list.push_back(toJson(device, object.getString("precision").value_or("")));
  object["devices"] = std::move(list);
  if (!others.empty())
    object["other_devices"] = llvm::json::Array(others);
  if (!recomputed.empty())
    object["recompute"] = llvm::cantFail(llvm::json::parse(recomputed));
  describeOps(object, modules);
  report::Report report = llvm::cantFail(report::readJson(std::move(value)));
  (*report.json.getAsObject())["summary"] = report::summaryJson(report);
  std::string printed;
  llvm::raw_string_ostream(printed) << report.json;
  return printed;
}
