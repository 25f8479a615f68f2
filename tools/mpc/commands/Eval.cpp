//===- Eval.cpp - mpc eval ------------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/checkpoints/ClassProperty.h"
#include "tools/mpc/checkpoints/Weights.h"
#include "tools/mpc/training/Evaluate.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

using namespace mpc::tool;

namespace {
struct EvalCommand {
  std::string package, checkpoint, metrics;
  DataOptions data;
  bool json = false;
  SessionSettings session;
  WeightsChoice weights;
};
} // namespace

static int runEval(const EvalCommand &options) {
  Program program(options.package);
  requireEvaluate(program);
  Session session(program, options.session);
  if (options.checkpoint.empty())
    note("no --checkpoint given: using the initial weights");
  else
    session.load(options.checkpoint);
  options.weights.apply(session, program);
  DataOptions from = options.data;
  from.classes = rememberedClasses(session);
  MetricSet metrics(options.metrics, /*best=*/"", program, from);
  Dataset data(from, metrics.inputs());
  metrics.checkData(data);
  useBatchSize(program.batchSizeFor("evaluate", data.numSamples()), program,
               data, metrics);

  Evaluation evaluation = evaluate(session, program, data, &metrics);
  if (options.json)
    printJson(toJson(evaluation));
  else
    printResult("%s%s\n", formatEvaluation(evaluation).c_str(),
                formatMatrices(evaluation.metrics).c_str());
  return Ok;
}

Action mpc::tool::addEval(CLI::App &app) {
  auto options = std::make_shared<EvalCommand>();
  CLI::App *eval =
      app.add_subcommand("eval", "Evaluate loss and metrics on data");
  eval->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  options->data
      .addTo(*eval, "Data with an array for each model input, and labels or "
                    "targets, as for mpc train")
      ->required();
  addMetricsTo(*eval, options->metrics);
  eval->add_option("--checkpoint", options->checkpoint,
                   "Weights: a checkpoint, or a folder of checkpoints")
      ->option_text("PATH");
  options->weights.addTo(*eval);
  options->session.addTo(*eval);
  eval->add_flag("--json", options->json, "Print one JSON object");
  return [options] { return runEval(*options); };
}
