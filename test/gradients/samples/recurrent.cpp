//===- recurrent.cpp - Samples of LSTM, GRU and RNN -----------------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

namespace {

struct Extents {
  int64_t steps, batch, features, hidden, directions;
  bool isBatchFirst;
};

} // namespace

/// Any of the activations, for each direction and gate.
static void drawActivations(SampleBuilder &s, int64_t count) {
  static const char *const known[] = {"Sigmoid",    "Tanh",     "Relu",
                                      "Softsign",   "Softplus", "LeakyRelu",
                                      "HardSigmoid"};
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i)
    names.push_back(known[s.from(0, 6)]);
  s.attribute("activations", names);
}

static Extents drawExtents(SampleBuilder &s, int64_t perDirection) {
  Extents e;
  const char *direction = s.cycle({"", "bidirectional", "reverse", "forward"});
  e.directions = 1 + (*direction == 'b');
  if (*direction)
    s.attribute("direction", direction);
  e.steps = s.from(1, 4);
  e.batch = s.from(1, 3);
  e.features = s.from(1, 3);
  e.hidden = s.from(1, 3);
  if (s.cycle())
    s.attribute("hidden_size", e.hidden);
  if (s.cycle({false, false, true}))
    drawActivations(s, perDirection * e.directions);
  if (s.cycle({false, false, true, false}))
    s.attribute("clip", s.real(0.3, 1));
  e.isBatchFirst = s.cycle() && s.opset >= 14;
  if (e.isBatchFirst)
    s.attribute("layout", 1);
  return e;
}

/// An initial state.
static std::string state(SampleBuilder &s, const char *name, const Extents &e) {
  return s.parameter(name, e.isBatchFirst
                               ? Shape{e.batch, e.directions, e.hidden}
                               : Shape{e.directions, e.batch, e.hidden});
}

static void drawRecurrent(SampleBuilder &s) {
  bool isLstm = s.op == "LSTM", isGru = s.op == "GRU";
  int64_t gates = isLstm ? 4 : isGru ? 3 : 1;
  Extents e = drawExtents(s, isLstm ? 3 : isGru ? 2 : 1);
  int64_t rows = gates * e.hidden;
  std::vector<std::string> inputs = {
      s.parameter("x", e.isBatchFirst ? Shape{e.batch, e.steps, e.features}
                                      : Shape{e.steps, e.batch, e.features}),
      s.parameter("w", {e.directions, rows, e.features}),
      s.parameter("r", {e.directions, rows, e.hidden}),
      s.cycle({true, false}) ? s.parameter("b", {e.directions, 2 * rows}) : "",
      s.cycle() ? s.tensor("int32", s.list(e.batch, 1, e.steps), {e.batch})
                : "",
      s.cycle() ? state(s, "h", e) : ""};
  if (isLstm) {
    inputs.push_back(s.cycle() ? state(s, "c", e) : "");
    inputs.push_back(s.cycle() ? s.parameter("p", {e.directions, 3 * e.hidden})
                               : "");
    if (s.cycle({false, false, true}))
      s.attribute("input_forget", 1);
  }
  if (isGru && s.cycle())
    s.attribute("linear_before_reset", 1);
  int outputs = isLstm ? 3 : 2;
  s.apply(inputs, outputs);
  int shown = int(s.from(1, (1 << outputs) - 1));
  for (int i = 0; i < outputs; ++i)
    if (shown >> i & 1)
      s.use("y" + std::to_string(i));
}

std::vector<SampledOp> recurrentSamples() {
  return {
      {"RNN", "x w r b h", drawRecurrent},
      {"GRU", "x w r b h", drawRecurrent},
      {"LSTM", "x w r b h c p", drawRecurrent},
  };
}

} // namespace mpc::test
