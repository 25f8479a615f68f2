//===- MetricSource.cpp - What a metric compares --------------------------===//

#include "tools/mpc/metrics/MetricSource.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/sources/OpenData.h"

#include <algorithm>

using namespace mpc::tool;

/// The label that losses ignore by default; also in arrays that only a metric
/// reads.
static constexpr int64_t kIgnoredLabel = -100;

static std::string quoted(const std::string &name) { return "'" + name + "'"; }

static std::string listOf(const std::vector<Binding> &bindings,
                          const char *conjunction = "and") {
  std::vector<std::string> names;
  for (const Binding &binding : bindings)
    names.push_back(quoted(binding.name));
  return joinWords(names, conjunction);
}

static const Binding *findBinding(const std::vector<Binding> &bindings,
                                  const std::string &name) {
  for (const Binding &binding : bindings)
    if (binding.name == name)
      return &binding;
  return nullptr;
}

static std::string typeOf(const Binding &binding) {
  return formatType(binding.dtype, binding.shape);
}

static bool isFloat(const Binding &binding) {
  switch (binding.dtype) {
  case MPC_DTYPE_F64:
  case MPC_DTYPE_F32:
  case MPC_DTYPE_F16:
  case MPC_DTYPE_BF16:
    return true;
  default:
    return false;
  }
}

static bool isInteger(const Binding &binding) {
  return binding.dtype == MPC_DTYPE_I64 || binding.dtype == MPC_DTYPE_I32 ||
         binding.dtype == MPC_DTYPE_U8;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static uint64_t countOf(const std::vector<int64_t> &shape) {
  uint64_t count = 1;
  for (int64_t extent : shape)
    count *= uint64_t(extent);
  return count;
}

/// A shape without its dimensions of size 1, except for the first.
static std::vector<int64_t> squeezed(const std::vector<int64_t> &shape) {
  std::vector<int64_t> rest;
  for (size_t i = 0; i < shape.size(); ++i)
    if (i == 0 || shape[i] != 1)
      rest.push_back(shape[i]);
  return rest;
}

/// Whether labels of the shape `labels` are one for each position of `output`
/// along the other dimensions than `axis`. Dimensions may be joined before the
/// classes of [rows, classes].
static bool fitsClasses(const Binding &output, const Binding &labels,
                        size_t axis) {
  if (axis == 0 || axis >= output.shape.size() || output.shape[axis] < 2)
    return false;
  std::vector<int64_t> rest = output.shape;
  rest.erase(rest.begin() + int64_t(axis));
  if (squeezed(labels.shape) == squeezed(rest))
    return true;
  return output.shape.size() == 2 && countOf(labels.shape) == countOf(rest);
}

static std::optional<size_t> findClasses(const Binding &output,
                                         const Binding &labels,
                                         std::optional<size_t> known) {
  if (!isInteger(labels))
    return std::nullopt;
  if (known)
    return fitsClasses(output, labels, *known) ? known : std::nullopt;
  for (size_t axis = 1; axis < output.shape.size(); ++axis)
    if (fitsClasses(output, labels, axis))
      return axis;
  return std::nullopt;
}

static bool fitsNumbers(const Binding &output, const Binding &targets) {
  return !output.shape.empty() &&
         squeezed(output.shape) == squeezed(targets.shape);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

namespace {
/// Finds the source of one metric.
class Finder {
public:
  Finder(const MetricSpec &spec, const Program &program, const LossFacts &loss,
         const DataOptions &data)
      : spec(spec), loss(loss), data(data), outputs(program.outputs("predict")),
        predictInputs(program.inputs("predict")),
        inputs(program.inputs("evaluate")),
        isImported(program.hasImportedStep()) {}

  MetricSource run() {
    for (const Binding &input : inputs)
      if (input.batchDim >= 0)
        source.batch = uint64_t(input.shape[input.batchDim]);
    source.output = chooseOutput();
    if (!isFloat(source.output))
      fail(": output '" + source.output.name + "' must be a float, but is " +
           typeOf(source.output));
    if (source.output.batchDim < 0 && source.batch > 1)
      fail(": output '" + source.output.name +
           "' is one for the whole batch, not one for each sample");
    source.truth = chooseTruth();
    chooseTask();
    checkTask();
    return source;
  }

private:
  [[noreturn]] void fail(const std::string &text) const {
    throw Failure(Usage, spec.option + text);
  }

  /// "f1:logits=labels" for messages.
  std::string advice(const std::string &output, bool withArray) const {
    return spec.name + ":" + output + (withArray ? "=ARRAY" : "");
  }

  bool isLossOutput() const { return source.output.name == loss.output; }

  Binding chooseOutput() const {
    if (!spec.output.empty()) {
      if (const Binding *found = findBinding(outputs, spec.output))
        return *found;
      fail(": the model has no output '" + spec.output + "'; it has " +
           listOf(outputs));
    }
    if (const Binding *found = findBinding(outputs, loss.output))
      return *found;
    if (outputs.size() != 1)
      fail(": the loss is part of the model, which has the outputs " +
           listOf(outputs) + "; name the one to measure, such as " +
           advice(outputs.empty() ? "OUTPUT" : outputs[0].name, false));
    if (loss.isIndirect() && spec.array.empty() && isImported)
      fail(": the package does not record what the model's own training step "
           "compares; name the output and an array of the data: " +
           advice(outputs[0].name, true));
    if (loss.isIndirect() && spec.array.empty())
      fail(": the model compares its labels with other values than output '" +
           outputs[0].name + "'; name the output and an array of the data: " +
           advice(outputs[0].name, true));
    return outputs[0];
  }

  /// An array that only the metric reads: its type and shape come from the
  /// file.
  Binding describeExtra() {
    std::vector<std::string> notes; // They come when the data is read.
    std::unique_ptr<DataSource> opened =
        selectArrays(openData(data), data, {}, notes);
    if (!opened->has(spec.array))
      fail(": " + data.path + " has no array '" + spec.array + "'");
    mpc::npz::ArrayType header = opened->header(spec.array);
    if (header.shape.empty())
      fail(": array '" + spec.array + "' of " + data.path +
           " is a single number; it needs one for each sample");
    source.isExtra = true;
    Binding binding;
    binding.name = spec.array;
    binding.dtype = mpc::tool::isFloat(header) ? MPC_DTYPE_F64 : MPC_DTYPE_I64;
    binding.shape = header.shape;
    binding.shape[0] = int64_t(source.batch);
    binding.batchDim = 0;
    return binding;
  }

  bool fits(const Binding &truth) const {
    return findClasses(source.output, truth, std::nullopt) ||
           fitsNumbers(source.output, truth);
  }

  /// The only input among `candidates` that fits the output; if several do,
  /// the one called labels or targets.
  const Binding *onlyFit(const std::vector<Binding> &candidates) const {
    std::vector<const Binding *> fitting, named;
    for (const Binding &input : candidates) {
      if (!fits(input))
        continue;
      fitting.push_back(&input);
      if (input.name == "labels" || input.name == "targets")
        named.push_back(&input);
    }
    return fitting.size() == 1 ? fitting[0]
           : named.size() == 1 ? named[0]
                               : nullptr;
  }

  Binding chooseTruth() {
    if (!spec.array.empty()) {
      const Binding *found = findBinding(inputs, spec.array);
      return found ? *found : describeExtra();
    }
    if (const Binding *found = findBinding(inputs, loss.input))
      if (isLossOutput() || fits(*found))
        return *found;
    // Inputs that only the loss takes.
    std::vector<Binding> candidates;
    for (const Binding &input : inputs)
      if (!findBinding(predictInputs, input.name))
        candidates.push_back(input);
    if (const Binding *found = onlyFit(candidates))
      return *found;
    fail(": no single input of the loss fits output '" + source.output.name +
         "', " + typeOf(source.output) +
         "; name the array of the data to compare it with: " +
         advice(source.output.name, true));
  }

  void chooseTask() {
    const Binding &output = source.output;
    size_t rank = output.shape.size();
    bool isKnown = isLossOutput() && source.truth.name == loss.input;
    std::optional<size_t> axis =
        findClasses(output, source.truth, isKnown ? loss.axis : std::nullopt);
    if (auto found = loss.scores.find(output.name); found != loss.scores.end())
      source.shape.scores = found->second;
    source.shape.number = spec.metric.number;
    if (axis) {
      source.shape.task = Task::Classes;
      source.axis = *axis;
      if (source.isExtra)
        source.truth.range =
            Binding::Range{0, output.shape[*axis], kIgnoredLabel};
    } else if (fitsNumbers(output, source.truth)) {
      // The same shape may hold numbers, or labels of yes and no.
      Task asked = spec.metric.row->appliesTo(Task::Numbers) ? Task::Numbers
                                                             : Task::Binary;
      source.shape.task = isKnown && loss.task() ? *loss.task() : asked;
      source.axis = std::min<size_t>(1, rank);
    } else {
      fail(": '" + source.truth.name + "', " + typeOf(source.truth) +
           ", fits neither as class labels nor as numbers for output '" +
           output.name + "', " + typeOf(output));
    }
    source.shape.columns =
        source.axis < rank ? uint64_t(output.shape[source.axis]) : 1;
  }

  /// "the loss, mse, compares numbers".
  std::string describeTask() const {
    const char *what = source.shape.task == Task::Classes  ? "classes"
                       : source.shape.task == Task::Binary ? "binary labels"
                                                           : "numbers";
    if (isLossOutput() && source.truth.name == loss.input)
      return "the loss, " + loss.kind + ", compares " + what;
    return "'" + source.truth.name + "' contains " + what + " for it";
  }

  void checkTask() {
    const MetricRow &row = *spec.metric.row;
    const MetricShape &shape = source.shape;
    if (!row.appliesTo(shape.task))
      fail(" does not apply to output '" + source.output.name +
           "': " + describeTask() + "; use " + listMetrics(shape.task));
    auto activation = loss.activations.find(source.output.name);
    if (shape.task == Task::Binary && activation != loss.activations.end() &&
        activation->second != "sigmoid")
      fail(
          ": output '" + source.output.name + "' is computed by " +
          activation->second +
          ", which predicts one class, so its labels must be integers; save '" +
          source.truth.name + "' as class labels with .argmax(1)");
    if (row.needsOneLabel && shape.task == Task::Binary && shape.columns > 1)
      fail(format(" needs one label per sample, but output '%s' has %llu; use "
                  "accuracy, f1 or iou",
                  source.output.name.c_str(),
                  static_cast<unsigned long long>(shape.columns)));
    if (row.mostColumns > 0 && shape.columns > row.mostColumns)
      fail(format(" allows at most %llu classes, but output '%s' has %llu",
                  static_cast<unsigned long long>(row.mostColumns),
                  source.output.name.c_str(),
                  static_cast<unsigned long long>(shape.columns)));
    if (row.takesNumber() && shape.number >= shape.columns)
      fail(format(" is always 1, because output '%s' has %llu classes; use a "
                  "smaller number",
                  source.output.name.c_str(),
                  static_cast<unsigned long long>(shape.columns)));
  }

  const MetricSpec &spec;
  const LossFacts &loss;
  const DataOptions &data;
  const std::vector<Binding> outputs, predictInputs, inputs;
  const bool isImported; ///< The model brings its own training step.
  MetricSource source;
};
} // namespace

MetricSource mpc::tool::findSource(const MetricSpec &spec,
                                   const Program &program,
                                   const LossFacts &loss,
                                   const DataOptions &data) {
  return Finder(spec, program, loss, data).run();
}
