//===- Comparison.cpp - Two programs of one model, step by step -----------===//

#include "tools/mpc/Comparison.h"
#include "tools/mpc/Memory.h"
#include "tools/mpc/Print.h"
#include "tools/mpc/Text.h"

#include <cmath>
#include <limits>
#include <map>

using namespace mpc::tool;

static constexpr const char *kEntry = "probe";

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// The bytes of a state; throws a Failure if there is no memory for them.
static std::vector<char> readState(const Session &session,
                                   const mpc_state_info_t &info) {
  uint64_t bytes = mpc_dtype_size(info.dtype);
  for (uint32_t i = 0; i < info.rank; ++i)
    bytes *= info.shape[i];
  std::vector<char> value;
  takeMemory(value, bytes, "the state '" + std::string(info.name) + "'");
  mpc_tensor_t tensor = {sizeof(tensor), info.dtype,   info.rank,
                         info.shape,     value.data(), {}};
  check(mpc_session_read_state(session.get(), info.name, &tensor), info.name);
  return value;
}

static void writeState(Session &session, const mpc_state_info_t &info,
                       std::vector<char> value) {
  mpc_tensor_t tensor = {sizeof(tensor), info.dtype,   info.rank,
                         info.shape,     value.data(), {}};
  check(mpc_session_write_state(session.get(), info.name, &tensor), info.name);
}

static bool isSameType(const mpc_state_info_t &a, const mpc_state_info_t &b) {
  return a.dtype == b.dtype && a.rank == b.rank &&
         std::equal(a.shape, a.shape + a.rank, b.shape);
}

/// Copies of masters follow them, and constants that were rounded do not
/// change.
static bool isRounded(const mpc_state_info_t &state) {
  return state.dtype == MPC_DTYPE_BF16 || state.dtype == MPC_DTYPE_F16;
}

//===----------------------------------------------------------------------===//
// One program, running
//===----------------------------------------------------------------------===//

struct Comparison::Side {
  Side(const std::string &package, const SessionSettings &settings)
      : program(package), session(program, settings) {
    for (const mpc_state_info_t &state : program.states())
      states.emplace(state.name, state);
    for (const Binding &output : program.outputs(kEntry)) {
      values.emplace_back(output.shape.empty() ? 1 : output.shape[0]);
      outputs.push_back(output);
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      tensors.push_back({sizeof(mpc_tensor_t),
                         outputs[i].dtype,
                         static_cast<uint32_t>(outputs[i].shape.size()),
                         outputs[i].shape.data(),
                         values[i].data(),
                         {}});
  }

  /// Takes the states of `other`; with `missing` only those that `than` lacks.
  void take(const Side &other, const Side *than = nullptr) {
    for (const auto &[name, state] : states) {
      auto found = other.states.find(name);
      if (found == other.states.end() || isRounded(state) ||
          !isSameType(found->second, state) ||
          (than && than->states.count(name)))
        continue;
      writeState(session, state, readState(other.session, found->second));
    }
  }

  /// Fills `values`.
  void show(const std::vector<mpc_tensor_t> &inputs) {
    check(mpc_session_run(session.get(), kEntry, inputs.data(), inputs.size(),
                          tensors.data(), tensors.size()));
  }

  std::vector<float> parameter(const mpc_state_info_t &state) const {
    std::vector<char> bytes = readState(session, state);
    std::vector<float> numbers(bytes.size() / sizeof(float));
    std::copy(bytes.begin(), bytes.end(),
              reinterpret_cast<char *>(numbers.data()));
    return numbers;
  }

  Program program;
  Session session;
  std::map<std::string, mpc_state_info_t> states;
  std::vector<Binding> outputs;
  std::vector<std::vector<float>> values; ///< Of each output.
  std::vector<mpc_tensor_t> tensors;
};

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

static mpc::report::Report readReport(const mpc::CompileResult &result) {
  llvm::Expected<mpc::report::Report> report = mpc::report::read(result.report);
  if (!report)
    throw Failure(Error, llvm::toString(report.takeError()));
  return std::move(*report);
}

Comparison::Comparison(const CompileOptions &candidateOptions,
                       const CompileOptions &referenceOptions,
                       const Settings &settings)
    : settings(settings), referencePrecision(referenceOptions.precision) {
  auto compile = [&](CompileOptions options, const std::string &package) {
    options.probe = true;
    return compileTo(options, package);
  };
  std::string candidatePackage = scratch.path + "/candidate.mpc",
              referencePackage = scratch.path + "/reference.mpc";
  CompileResult result = compile(candidateOptions, candidatePackage);
  for (const std::string &text : result.notes)
    note(text);
  candidateReport = readReport(result);
  referenceReport = readReport(compile(referenceOptions, referencePackage));
  candidate = open(candidatePackage);
  reference = open(referencePackage);
  locked = open(candidatePackage);
  candidateStep = candidateReport.find(candidate->program.stepEntry());
  referenceStep = referenceReport.find(reference->program.stepEntry());
  if (!candidateStep || !referenceStep)
    throw Failure(Error, "the report has nothing of what is trained with");
  ops = report::matchOps(*referenceStep, *candidateStep);
  matchProbes();
}

Comparison::~Comparison() = default;

std::unique_ptr<Comparison::Side>
Comparison::open(const std::string &package) const {
  SessionSettings how = settings.session;
  how.seed = settings.seed;
  return std::make_unique<Side>(package, how);
}

/// Outputs are called by the line of the op and the number of the result:
/// "17.0".
void Comparison::matchProbes() {
  auto placesOf = [](const Side &side) {
    std::map<std::string, size_t> places;
    for (size_t i = 0; i < side.outputs.size(); ++i)
      places[side.outputs[i].name] = i;
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
      if (reference->values[l->second].size() !=
          candidate->values[r->second].size())
        continue;
      probes.push_back({i, result, l->second, r->second});
      shown[i] = true;
    }
}

/// Errors of one step from the states of the reference; of fp16 with the loss
/// scale that the candidate has come to.
std::vector<double> Comparison::probe(Dataset &data, const Batches &batches) {
  locked->take(*reference);
  locked->take(*candidate, reference.get());
  const std::vector<mpc_tensor_t> &inputs = data.gather(batches.front());
  reference->show(inputs);
  locked->show(inputs);
  std::vector<double> errors(ops.size(), 0);
  std::vector<const std::vector<float> *> first(ops.size(), nullptr);
  for (const Probe &probe : probes) {
    const std::vector<float> &truth = reference->values[probe.left];
    if (probe.result == 0)
      first[probe.op] = &truth;
    const report::SharedOp &shared = ops[probe.op];
    int64_t input = shared.inputs.empty() ? -1 : shared.inputs.front();
    double least = 0;
    if (input >= 0 && first[input])
      least = report::leastNormOf(referenceStep->ops[shared.left], probe.result,
                                  *first[input], truth.size());
    double error =
        report::relativeError(locked->values[probe.right], truth, least);
    errors[probe.op] = std::max(errors[probe.op], error);
  }
  return errors;
}

void Comparison::run(const std::function<void(uint64_t)> &progress) {
  Dataset data(settings.data,
               candidate->program.inputs(candidate->program.stepEntry()));
  checkFillsBatch(data);
  for (Side *side : {candidate.get(), reference.get(), locked.get()})
    setTotalSteps(side->session, side->program, settings.steps);
  candidate->take(*reference);
  std::vector<std::vector<float>> before;
  for (const auto &[name, state] : reference->states)
    if (state.is_parameter && state.dtype == MPC_DTYPE_F32)
      before.push_back(reference->parameter(state));

  Sampler sampler(data.numSamples(), data.batchSize(), settings.seed, true);
  for (bool goesOn = true; goesOn && steps.size() < settings.steps;) {
    if (const char *signal = signals.received())
      throw Failure(Stopped, format("stopped by %s", signal));
    Batches batches = nextBatches(sampler, reference->program);
    mpc_step_info_t info = {};
    // First, for its loss scale.
    goesOn = update(candidate->session, data, batches, info);
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    Step step = {goesOn ? info.update_loss : kNone,
                 goesOn ? info.grad_norm : kNone, 0, 0, probe(data, batches)};
    if (!update(reference->session, data, batches, info))
      throw Failure(Numeric,
                    format("training does not get beyond step %zu with "
                           "--precision=%s either: mpc train says why",
                           steps.size(), referencePrecision.c_str()));
    step.trueLoss = info.update_loss;
    step.trueGradNorm = info.grad_norm;
    steps.push_back(std::move(step));
    progress(steps.size());
  }
  measureDrift(before);
}

void Comparison::measureDrift(const std::vector<std::vector<float>> &before) {
  size_t number = 0;
  for (const auto &[name, state] : reference->states) {
    if (!state.is_parameter || state.dtype != MPC_DTYPE_F32)
      continue;
    const std::vector<float> &start = before[number++];
    std::vector<float> truth = reference->parameter(state),
                       value = candidate->parameter(state);
    for (size_t i = 0; i < start.size(); ++i) {
      truth[i] -= start[i];
      value[i] -= start[i];
    }
    drifts.push_back({printable(name), report::relativeError(value, truth)});
  }
}
