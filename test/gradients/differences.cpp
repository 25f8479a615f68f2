//===- differences.cpp - Gradients and finite differences -----------------===//

#include "test/gradients/differences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace mpc::test {

ProgramPtr compileModel(const Model &model, const char *precision, double lr) {
  Folder folder;
  CompileOptions options;
  options.model = writeText(folder, "model.onnxtxt", textOf(model));
  options.precision = precision;
  options.optimizer = "sgd";
  options.lr = lr;
  options.weightDecay = 0;
  // Overflow is the subject of other tests.
  options.lossScaleInit = 256;
  options.loss = model.loss ? model.loss : "output:loss";
  return compile(options, folder);
}

/// Sets the initial values, which are the same in every precision.
static void setParameters(Session &session, const Model &model) {
  uint64_t seed = model.seed;
  for (const TensorSpec &parameter : parseTensors(model.parameters)) {
    Values values = parameter.fill(seed++);
    if (session.has(parameter.name))
      session.write(parameter.name, values);
  }
}

Gradients takeGradients(Session &session, const Model &model, double lr) {
  Gradients result;
  setParameters(session, model);
  for (const std::string &name : session.parameters())
    result[name] = session.read(name);
  session.write("step_count", {0});
  EXPECT_EQ(session.step(inputsOf(model)).skipped, 0);
  for (auto &[name, values] : result) {
    Values after = session.read(name);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (values[i] - after[i]) / lr;
  }
  setParameters(session, model);
  return result;
}

/// The loss of the training step, in full precision.
static double lossOf(Session &session, const std::vector<Values> &inputs) {
  session.write("step_count", {0}); // The same mask of dropout.
  Values loss = session.run("step", inputs)["loss"];
  return loss.size() == 1 ? loss[0] : NAN;
}

double Differences::least() const {
  return 1e-4 * std::max(1.0, std::fabs(loss));
}

/// The derivative with respect to element `i` of a state with `values`, as a
/// central difference.
static double differenceOf(Session &session, const std::vector<Values> &inputs,
                           const std::string &name, const Values &values,
                           size_t i, double step) {
  Values moved = values;
  moved[i] = values[i] + step;
  session.write(name, moved);
  double difference = lossOf(session, inputs);
  moved[i] = values[i] - step;
  session.write(name, moved);
  difference -= lossOf(session, inputs);
  session.write(name, values);
  return difference / ((values[i] + step) - (values[i] - step));
}

// Differentiates with respect to every element of every parameter. Central
// differences with a step of 1e-5 have an error of about 1e-10 times the third
// derivative; rounding adds 1e-11 of the loss. For numbers larger than 1 the
// step is larger, up to 1e-4, so that their rounding errors do not matter more.
// About one random number in 1e5 is so close to a kink that the step crosses
// it; a smaller step does not, and is still accurate enough.
Differences takeDifferences(const Model &model) {
  Differences result;
  ProgramPtr program = compileModel(model, "fp64", 1);
  if (!program)
    return result;
  Session session(program);
  result.gradients = takeGradients(session, model, 1);
  std::vector<Values> inputs = inputsOf(model);
  session.write("learning_rate", {0});
  result.loss = lossOf(session, inputs);
  for (const auto &[name, gradient] : result.gradients) {
    Values values = session.read(name);
    Values &expected = result.expected[name];
    auto take = [&](size_t i, double step) {
      step *= std::clamp(std::fabs(values[i]), 1.0, 10.0);
      return differenceOf(session, inputs, name, values, i, step);
    };
    for (size_t i = 0; i < values.size(); ++i)
      expected.push_back(take(i, 1e-5));
    double allowed = 1e-6 * std::max(largest(expected), result.least());
    for (size_t i = 0; i < values.size(); ++i)
      if (std::fabs(expected[i] - gradient[i]) > allowed)
        expected[i] = take(i, 3e-7);
  }
  return result;
}

} // namespace mpc::test
