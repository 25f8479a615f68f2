//===- CompareText.cpp - Output of mpc compare ----------------------------===//

#include "tools/mpc/compare/CompareText.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include "compiler/Report/Compare/ComparePage.h"
#include "compiler/Support/UserInput/UserRegex.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mpc::tool;

/// "0.12 %", "not finite".
static std::string percent(double share) {
  if (!std::isfinite(share))
    return "not finite";
  if (share == 0)
    return "0 %";
  return format(share < 1e-4 ? "%.1e %%" : "%.3g %%", 100 * share);
}

/// The same with "off": "0.12 % off".
static std::string off(double share) {
  return percent(share) + (std::isfinite(share) ? " off" : "");
}

TensorChoice::TensorChoice(const std::string &pattern,
                           const Comparison &comparison) {
  if (pattern.empty())
    return;
  std::string reason;
  regex = mpc::compileUserRegex(pattern, reason);
  if (!regex)
    throw Failure(Usage, "--tensors='" + pattern +
                             "' is not a regular expression: " + reason);
  std::vector<std::string> names;
  for (size_t i = 0; i < comparison.ops.size(); ++i) {
    const report::Op &op = comparison.op(i);
    if (!comparison.isShown(i))
      continue;
    if (includes(op))
      return;
    names.push_back(op.node);
    names.push_back(op.type);
  }
  throw Failure(Usage, "--tensors='" + pattern +
                           "' matches no node and no op type" +
                           suggest(pattern, names));
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

CompareResult::CompareResult(const Comparison &comparison,
                             const std::string &precision,
                             const std::string &against,
                             const CompareTolerances &tolerances)
    : comparison(comparison), precision(precision), against(against),
      tolerances(tolerances) {
  isDone =
      !comparison.steps.empty() && std::isfinite(comparison.steps.back().loss);
  findWorst();
  findLossError();
}

void CompareResult::findWorst() {
  for (size_t i = 0; i < comparison.ops.size(); ++i)
    if (comparison.isShown(i))
      worst.push_back({i});
  for (size_t s = 0; s < comparison.steps.size(); ++s) {
    const std::vector<double> &errors = comparison.steps[s].errors;
    for (Worst &op : worst)
      if (errors[op.op] > op.error)
        op = {op.op, errors[op.op],
              report::errorOfInputs(comparison.ops[op.op], errors), s + 1};
    if (firstDivergence)
      continue;
    if (auto op =
            report::findDivergence(comparison.ops, errors, tolerances.tensor))
      firstDivergence =
          Worst{*op, errors[*op],
                report::errorOfInputs(comparison.ops[*op], errors), s + 1};
  }
}

void CompareResult::findLossError() {
  for (size_t s = 0; s < comparison.steps.size(); ++s) {
    const Comparison::Step &step = comparison.steps[s];
    constexpr double kLeast = std::numeric_limits<float>::min();
    double error = std::abs(step.loss - step.trueLoss) /
                   std::max(std::abs(step.trueLoss), kLeast);
    if (std::isfinite(step.loss) && error > lossError) {
      lossError = error;
      lossStep = s + 1;
    }
  }
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

std::string CompareResult::nameOf(size_t number) const {
  const report::Op &op = comparison.op(number);
  return "'" + op.node + "' (" + (op.type.empty() ? op.op : op.type) + ")";
}

std::string CompareResult::lossText() const {
  return format("the loss deviates by up to %s (step %zu)",
                percent(lossError).c_str(), size_t(lossStep));
}

std::string CompareResult::verdict() const {
  std::string text = precision;
  if (firstDivergence)
    return text +
           format(" diverges from %s at %s in step %zu: %s, its inputs %s",
                  against.c_str(), nameOf(firstDivergence->op).c_str(),
                  size_t(firstDivergence->step),
                  off(firstDivergence->error).c_str(),
                  off(firstDivergence->ofInputs).c_str());
  if (!isDone)
    return text + format(" fails at step %zu: loss, gradients or weights are "
                         "not finite",
                         comparison.steps.size());
  if (lossError > tolerances.loss)
    return text + format(" diverges from %s: %s, although no tensor deviates "
                         "by more than %s in one step",
                         against.c_str(), lossText().c_str(),
                         percent(tolerances.tensor).c_str());
  return text +
         format(" agrees with %s: %s", against.c_str(), lossText().c_str());
}

/// The distribution of errors: "median 0.2 %, 90th percentile 3 %".
static std::string spread(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  double half = errors[(errors.size() - 1) / 2],
         most = errors[(errors.size() - 1) * 9 / 10];
  if (!std::isfinite(half))
    return "more than half are not finite";
  return "median " + percent(half) + ", 90th percentile " +
         (std::isfinite(most) ? percent(most) : "not finite");
}

void CompareResult::printParameters() const {
  std::vector<double> errors;
  for (const Comparison::Drift &drift : comparison.drifts)
    errors.push_back(drift.error);
  if (isDone && !errors.empty())
    printResult("parameters  error relative to the distance trained: %s\n",
                spread(errors).c_str());
}

void CompareResult::printTensors() const {
  std::vector<double> errors;
  for (const Worst &op : worst)
    errors.push_back(op.error);
  if (!errors.empty())
    printResult("tensors     error in a step from the same states: %s\n",
                spread(errors).c_str());
}

void CompareResult::printOps(const std::vector<Worst> &ops) const {
  printResult("\n  %10s  %10s  %7s  %-13s %s\n", "error", "of inputs",
              "in step", "format", "node");
  for (const Worst &op : ops)
    printResult("  %10s  %10s  %7zu  %-13s %s\n", percent(op.error).c_str(),
                percent(op.ofInputs).c_str(), size_t(op.step),
                comparison.op(op.op).format().c_str(), nameOf(op.op).c_str());
  printResult("\n");
}

std::vector<CompareResult::Worst>
CompareResult::choose(const TensorChoice &chosen) const {
  constexpr size_t kMax = 10;
  std::vector<Worst> ops = worst;
  if (!chosen.isOpen()) {
    llvm::erase_if(ops, [&](const Worst &op) {
      return !chosen.includes(comparison.op(op.op));
    });
    return ops;
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](auto &a, auto &b) { return a.error > b.error; });
  ops.resize(std::min(kMax, ops.size()));
  return ops;
}

/// "2.31 to 0.12", "2.31", "none".
static std::string course(double first, double last, size_t steps) {
  if (!std::isfinite(first))
    return "none";
  return steps == 1 ? format("%.5g", first)
                    : format("%.5g to %.5g", first, last);
}

void CompareResult::print(const TensorChoice &chosen) const {
  const std::vector<Comparison::Step> &steps = comparison.steps;
  size_t done = steps.size() - !isDone;
  auto print = [&](const char *name, auto ours, auto theirs) {
    printResult(
        "%-11s %s: %s; %s: %s\n", name, precision.c_str(),
        course(steps[0].*ours, steps[std::max<size_t>(done, 1) - 1].*ours, done)
            .c_str(),
        against.c_str(),
        course(steps[0].*theirs, steps.back().*theirs, steps.size()).c_str());
  };
  printResult("%s of %s, %zu of %s\n", formatCount(done, "step").c_str(),
              precision.c_str(), steps.size(), against.c_str());
  print("loss", &Comparison::Step::loss, &Comparison::Step::trueLoss);
  print("grad norm", &Comparison::Step::gradNorm,
        &Comparison::Step::trueGradNorm);
  printParameters();
  printTensors();
  printOps(choose(chosen));
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

/// The position of the op among those that are shown.
size_t CompareResult::placeOf(size_t op) const {
  size_t place = 0;
  while (worst[place].op != op)
    ++place;
  return place;
}

nlohmann::ordered_json CompareResult::json(const std::string &model) const {
  nlohmann::ordered_json json;
  json["model"] = model;
  json["precision"] = precision;
  json["against"] = against;
  json["holds"] = holds();
  json["verdict"] = verdict();
  json["loss_error"] = isDone ? lossError : INFINITY;
  json["tolerance"] = tolerances.loss;
  json["tensor_tolerance"] = tolerances.tensor;
  json["parting"] = nullptr;
  if (firstDivergence)
    json["parting"] = {{"op", placeOf(firstDivergence->op)},
                       {"node", comparison.op(firstDivergence->op).node},
                       {"step", firstDivergence->step},
                       {"error", firstDivergence->error},
                       {"inputs_error", firstDivergence->ofInputs}};
  json["steps"] = nlohmann::ordered_json::array();
  for (const Comparison::Step &step : comparison.steps)
    json["steps"].push_back({{"loss", step.loss},
                             {"reference_loss", step.trueLoss},
                             {"grad_norm", step.gradNorm},
                             {"reference_grad_norm", step.trueGradNorm}});
  json["ops"] = nlohmann::ordered_json::array();
  for (const Worst &one : worst) {
    const report::Op &op = comparison.op(one.op);
    json["ops"].push_back({{"node", op.node},
                           {"op", op.op},
                           {"type", op.type},
                           {"module", op.module},
                           {"phase", report::nameOf(op.phase).str()},
                           {"format", op.format()},
                           {"error", one.error},
                           {"inputs_error", one.ofInputs},
                           {"step", one.step}});
  }
  json["parameters"] = nlohmann::ordered_json::array();
  for (const Comparison::Drift &drift : comparison.drifts)
    json["parameters"].push_back(
        {{"name", drift.name}, {"error", drift.error}});
  return json;
}

std::string CompareResult::page(const std::string &model) const {
  // Numbers that are not finite become null.
  return report::comparePage(json(model).dump(
      -1, ' ', false, nlohmann::json::error_handler_t::replace));
}
