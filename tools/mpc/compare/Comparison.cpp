//===- Comparison.cpp - Compare two programs step by step -----------------===//

#include "tools/mpc/compare/Comparison.h"
#include "compiler/Report/Model/Magnitudes.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <cmath>
#include <limits>
#include <map>

using namespace mpc::tool;

static mpc::report::Report parseReport(const std::string &text) {
  llvm::Expected<mpc::report::Report> report = mpc::report::read(text);
  if (!report)
    throw Failure(Error, llvm::toString(report.takeError()));
  return std::move(*report);
}

Comparison::Comparison(const CompileOptions &candidateOptions,
                       const CompileOptions &referenceOptions,
                       const Settings &settings)
    : settings(settings), referencePrecision(referenceOptions.precision) {
  SessionSettings session = settings.session;
  session.seed = settings.seed;
  auto compile = [&](CompileOptions options, const std::string &package) {
    options.probe = true;
    return compileTo(options, package);
  };
  const std::string package = scratch.path + "/candidate.mpc";
  CompileResult result = compile(candidateOptions, package);
  for (const std::string &text : result.notes)
    note(text);
  candidateReport = parseReport(result.report);
  candidate = std::make_unique<CompiledProgram>(package, session);
  candidateOnReference = std::make_unique<CompiledProgram>(package, session);
  if (referencePrecision == "fp64") {
    if (candidate->program.microBatches() > 1)
      throw Failure(Usage, "--against=fp64 requires updates of one batch; "
                           "leave out --accumulate");
    std::string report;
    reference = makeReference(referenceOptions, report);
    referenceReport = parseReport(report);
    // Take what the session determined: seeds, and weights as stored in the
    // package.
    reference->take(*candidate);
  } else {
    const std::string other = scratch.path + "/reference.mpc";
    referenceReport = parseReport(compile(referenceOptions, other).report);
    reference = std::make_unique<CompiledProgram>(other, session);
  }
  candidateStep = candidateReport.find(candidate->program.stepEntry());
  referenceStep = referenceReport.find(candidate->program.stepEntry());
  if (!candidateStep || !referenceStep)
    throw Failure(Error, "the report does not describe the training precision");
  ops = report::matchOps(*referenceStep, *candidateStep);
  matchProbes();
}

Comparison::~Comparison() = default;

/// Pairs the probes of both programs. They are named after the line of the op
/// in the report and the number of the result: "17.0".
void Comparison::matchProbes() {
  auto placesOf = [](const ComparedProgram &program) {
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < program.probes.size(); ++i)
      places[program.probes[i].first] = i;
    return places;
  };
  std::map<std::string, size_t> left = placesOf(*reference),
                                right = placesOf(*candidate);
  shown.assign(ops.size(), false);
  for (size_t i = 0; i < ops.size(); ++i)
    for (size_t result = 0;; ++result) {
      auto name = [&](size_t line) {
        return std::to_string(line) + "." + std::to_string(result);
      };
      auto l = left.find(name(ops[i].left)), r = right.find(name(ops[i].right));
      if (l == left.end() || r == right.end())
        break;
      if (reference->probes[l->second].second !=
          candidate->probes[r->second].second)
        continue;
      probes.push_back({i, result, l->second, r->second});
      shown[i] = true;
    }
}

/// Errors of one step that starts from the states of the reference; states that
/// the reference lacks, such as the loss scale of fp16, come from the
/// candidate.
std::vector<double> Comparison::probe(Dataset &data, const Batches &batches) {
  candidateOnReference->take(*reference);
  candidateOnReference->take(*candidate, reference.get());
  const std::vector<mpc_tensor_t> &inputs = data.gather(batches.front());
  reference->show(inputs);
  candidateOnReference->show(inputs);
  std::vector<double> errors(ops.size(), 0);
  report::Magnitudes magnitudes(
      ops, *referenceStep, referencePrecision == "fp64" ? 0x1p-53 : 0x1p-24);
  for (const Probe &probe : probes) {
    const std::vector<double> &truth = reference->values[probe.left];
    double least = magnitudes.leastNormOf(probe.op, probe.result, truth);
    double error = report::relativeError(
        candidateOnReference->values[probe.right], truth, least);
    errors[probe.op] = std::max(errors[probe.op], error);
  }
  return errors;
}

void Comparison::run(const std::function<void(uint64_t)> &progress) {
  Dataset data(settings.data,
               candidate->program.inputs(candidate->program.stepEntry()));
  checkFillsBatch(data);
  for (ComparedProgram *program :
       {static_cast<ComparedProgram *>(candidate.get()), reference.get(),
        static_cast<ComparedProgram *>(candidateOnReference.get())})
    program->setTotalSteps(settings.steps);
  candidate->take(*reference);
  std::vector<std::vector<double>> before;
  for (const auto &[name, state] : reference->states)
    if (state.isParameter && state.isFloat())
      before.push_back(reference->numbers(name));

  Sampler sampler(data.numSamples(), data.batchSize(), settings.seed, true);
  for (bool continues = true; continues && steps.size() < settings.steps;) {
    if (const char *signal = signals.received())
      throw Failure(Stopped, format("stopped by %s", signal));
    Batches batches = nextBatches(sampler, candidate->program);
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    Step step = {kNone, kNone, 0, 0, {}};
    // Update the candidate first: probe() uses its loss scale.
    continues = candidate->update(data, batches, step.loss, step.gradNorm);
    step.errors = probe(data, batches);
    if (!reference->update(data, batches, step.trueLoss, step.trueGradNorm))
      throw Failure(Numeric,
                    format("training already fails after step %zu with "
                           "--precision=%s; run mpc train for details",
                           steps.size(), referencePrecision.c_str()));
    steps.push_back(std::move(step));
    progress(steps.size());
  }
  measureDrift(before);
}

void Comparison::measureDrift(const std::vector<std::vector<double>> &before) {
  size_t number = 0;
  for (const auto &[name, state] : reference->states) {
    if (!state.isParameter || !state.isFloat())
      continue;
    const std::vector<double> &start = before[number++];
    std::vector<double> truth = reference->numbers(name),
                        value = candidate->numbers(name);
    for (size_t i = 0; i < start.size(); ++i) {
      truth[i] -= start[i];
      value[i] -= start[i];
    }
    drifts.push_back({printable(name), report::relativeError(value, truth)});
  }
}
