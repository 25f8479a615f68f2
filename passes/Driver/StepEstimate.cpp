//===- StepEstimate.cpp - Narrow formats against f32 ----------------------===//

#include "passes/Driver/StepEstimate.h"

#include "compiler/Report/Cost/Estimate.h"

#include "llvm/ADT/STLExtras.h"

using namespace mpc;

/// A smaller relative difference of two estimates says nothing.
static constexpr double kTie = 0.02;

/// Nanoseconds below which a difference matters to nobody.
static constexpr double kShort = 1e6;

bool StepEstimate::isShort() const { return narrow < kShort; }

bool StepEstimate::isFaster() const { return narrow < (1 - kTie) * wide; }

std::string StepEstimate::text(llvm::StringRef narrowName,
                               const Machine &machine) const {
  return std::string(isTraining ? "a step" : "a prediction") +
         " takes an estimated " + report::inTime(narrow) + " in " +
         narrowName.str() + " and " + report::inTime(wide) + " in fp32 on " +
         machine.name;
}

std::optional<StepEstimate> mpc::estimateStep(llvm::StringRef kernelReport,
                                              const Machine &machine,
                                              uint64_t batches) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(kernelReport);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  report::Device device = report::readDevice(*parsed->getAsObject());
  auto narrow = report::estimateStep(device, machine, batches);
  auto wide =
      report::estimateStep(device, machine, batches, report::Formats::Wide);
  if (!narrow || !wide)
    return std::nullopt;
  bool isTraining =
      llvm::any_of(device.entries, [](const report::Device::Entry &entry) {
        return report::isTrainingEntry(entry.name);
      });
  return StepEstimate{*narrow, *wide, isTraining};
}

bool mpc::requiresNarrow(const CompileOptions &options) {
  auto isNarrow = [](llvm::StringRef rule) { return !rule.ends_with("=fp32"); };
  return options.masterWeights != "fp32" || !options.forceLow.empty() ||
         llvm::any_of(options.opPrecision, isNarrow) ||
         llvm::any_of(options.policy, isNarrow);
}
