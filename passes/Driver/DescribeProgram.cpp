//===- DescribeProgram.cpp - What a package records -----------------------===//

#include "passes/Driver/DescribeProgram.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "passes/Options/PackageText.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// Names may hold spaces.
static std::string joinLines(ArrayAttr names) {
  if (!names)
    return "";
  return llvm::join(
      llvm::map_range(names.getAsRange<StringAttr>(),
                      [](StringAttr name) { return name.getValue(); }),
      "\n");
}

std::vector<std::pair<std::string, std::string>>
mpc::describeProgram(const CompileOptions &options, ModuleOp module) {
  std::map<std::string, std::string> facts;
  auto loss = module->getAttrOfType<StringAttr>(kLossAttr);
  facts["loss"] = loss ? loss.getValue().str() : options.loss;
  auto metrics = module->getAttrOfType<StringAttr>(kMetricsAttr);
  facts["metrics"] = metrics ? metrics.getValue().str() : "";
  facts["model_path"] = options.modelPath;
  // Updates divide by the number actually accumulated: see
  // mpc_session_finish_update.
  if (options.accumulate > 1 || options.dataParallel)
    facts["incomplete-updates"] = "weighted";
  if (options.observes() || options.profiles())
    facts["observe"] = options.profiles() ? "profile" : "numerics";
  if (auto nodes = module->getAttrOfType<ArrayAttr>(kUncheckedIndicesAttr))
    facts["computed-indices"] = joinLines(nodes);
  facts["loss-parts"] =
      joinLines(module->getAttrOfType<ArrayAttr>(kLossPartsAttr));
  auto rates = module->getAttrOfType<ArrayAttr>(kLearningRatesAttr);
  if (rates) { // The model brings its own training step.
    facts["optimizer"] = kImportedOptimizer;
    facts["own-step"] = "yes";
    facts["learning-rates"] = joinLines(rates);
  } else {
    // A model that only predicts has no learning rate.
    train::StateOp rate =
        train::Program(module).state(train::StateRole::LearningRate);
    facts["learning-rates"] = rate ? rate.getSymName().str() : "learning_rate";
  }
  return describeOptions(options, std::move(facts), rates != nullptr);
}
