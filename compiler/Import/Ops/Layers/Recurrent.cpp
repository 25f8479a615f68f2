//===- Recurrent.cpp - Import of LSTM, GRU and RNN ------------------------===//
//
// The product of inputs and weights, which does not depend on the state, is one
// product for all steps. An LSTM or GRU as PyTorch has it becomes one op
// for each direction; the steps of others are unrolled.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;

namespace {

/// Maximum number of steps, which some devices unroll.
constexpr int64_t kMaxSteps = 4096;

/// The common part of recurrent ops: their geometry, and slices of their
/// weights.
class Recurrent {
public:
  /// `gates` is the number of parts of the weights' rows.
  Recurrent(ImportedNode &node, int64_t gates) : node(node), gates(gates) {}

  /// Reads inputs and attributes. `peepholes` is the input with the peepholes
  /// of an LSTM.
  bool read(ArrayRef<StringRef> activations);

  /// Runs `step` in both directions and sets the outputs. It gets the
  /// contribution of the input to the gates, [N, gates * H], and the states,
  /// and returns the new states.
  using Step = llvm::function_ref<SmallVector<Value>(
      int64_t direction, Value input, ArrayRef<Value> states)>;
  LogicalResult run(unsigned numStates, Step step);

  /// Returns true if the activations are those that `read` got and nothing
  /// limits their inputs or the lengths of sequences.
  bool hasUsualSteps() const { return isUsual; }
  /// Emits one op for each direction and sets the outputs. `layer` gets the
  /// contribution of the input to the gates, [T, N, gates * H], and the initial
  /// states, and returns the sequence of states, [T, N, H], and the last
  /// states.
  struct Layer {
    Value sequence;
    SmallVector<Value> lasts;
  };
  using LayerBuilder = llvm::function_ref<Layer(int64_t direction, Value input,
                                                ArrayRef<Value> states)>;
  LogicalResult runLayers(unsigned numStates, LayerBuilder layer);
  /// Returns true if the first step of a direction is the last in time.
  bool startsAtEnd(int64_t direction) const {
    return isReverse || direction == 1;
  }
  /// The state after the last step.
  Value lastOf(int64_t direction, Value sequence);
  SmallVector<NamedAttribute> directionFlag(int64_t direction) {
    if (!startsAtEnd(direction))
      return {};
    return {node.flag("reverse")};
  }
  /// The sum of the biases of a direction, [gates * H]; zeros without any.
  Value biasSum(int64_t direction);
  /// The same for a GRU, followed by the candidate's recurrent bias, which is
  /// not part of the sum: [4 * H].
  Value gruBias(int64_t direction);

  // Pieces of steps.
  Value add(Value a, Value b) { return node.emit<train::AddOp>({a, b}); }
  Value sub(Value a, Value b) { return node.emit<train::SubOp>({a, b}); }
  Value mul(Value a, Value b) { return node.emit<train::MulOp>({a, b}); }
  /// Part `gate` of [N, gates * H].
  Value gate(Value all, int64_t gate) {
    return node.part(all, 1, gate * hidden, hidden);
  }
  /// R of a direction, [gates * H, H].
  Value recurrenceOf(int64_t direction) {
    return directionOf(recurrence, direction);
  }
  /// `state` times the rows of gates [first, first + count) of R.
  Value recur(int64_t direction, Value state, int64_t first, int64_t count);
  /// The bias of one gate that belongs to R.
  Value recurrentBias(int64_t direction, int64_t gate);
  Value activate(int64_t direction, unsigned which, Value value);
  /// Clamps to [-clip, clip], if there is a limit.
  Value clipped(Value value);

  ImportedNode &node;
  const int64_t gates;
  int64_t hidden = 0;
  int64_t directions = 1;
  bool addsInputBias = true;     ///< To the input's contribution,
  bool addsRecurrentBias = true; ///< and the one that belongs to R.

private:
  Value directionOf(Value value, int64_t direction);
  Value inputGates(int64_t direction);
  Value initialState(unsigned index, int64_t direction);
  /// Sets the outputs: the sequences of each direction, [T, 1, N, H], and each
  /// state's last ones, [1, N, H].
  LogicalResult setOutputs(ArrayRef<Value> sequences,
                           ArrayRef<SmallVector<Value>> lasts);

  bool isReverse = false, isBatchFirst = false, isUsual = false;
  double clip = 0;
  int64_t steps = 0, batch = 0;
  Value sequence, weights, recurrence, bias, lengths;
  SmallVector<StringRef> names;
  std::vector<double> alphas, betas;
  unsigned perDirection = 0;
};

} // namespace

/// The part of a value for one direction, without that dimension.
Value Recurrent::directionOf(Value value, int64_t direction) {
  Value own = node.part(value, 0, direction, 1);
  return own ? node.reshape(own, shapeOf(own).drop_front()) : own;
}

static std::vector<double> floatsAttr(ImportedNode &node, StringRef name) {
  const onnx::AttributeProto *attribute =
      node.typedAttr(name, onnx::AttributeProto::FLOATS);
  if (!attribute)
    return {};
  return {attribute->floats().begin(), attribute->floats().end()};
}

bool Recurrent::read(ArrayRef<StringRef> activations) {
  sequence = node.floatInput(0);
  weights = node.floatInput(1);
  recurrence = node.floatInput(2);
  bias = node.hasInput(3) ? node.floatInput(3) : Value();
  lengths = node.hasInput(4) ? node.intInput(4) : Value();
  std::string direction = node.stringAttr("direction", "forward");
  isBatchFirst = node.boolAttr("layout", false);
  clip = node.floatAttr("clip", 0);
  names = node.stringsAttr("activations");
  alphas = floatsAttr(node, "activation_alpha");
  betas = floatsAttr(node, "activation_beta");
  int64_t size = node.intAttr("hidden_size", 0);
  if (node.failed())
    return false;
  auto fail = [&](const Twine &why) {
    node.shapeError() << why;
    return false;
  };
  isReverse = direction == "reverse";
  directions = direction == "bidirectional" ? 2 : 1;
  if (!isReverse && directions == 1 && direction != "forward")
    return fail("attribute 'direction' is '" + direction + "'");
  perDirection = activations.size();
  if (names.empty())
    for (int64_t d = 0; d < directions; ++d)
      names.insert(names.end(), activations.begin(), activations.end());
  if (int64_t(names.size()) != perDirection * directions)
    return fail("attribute 'activations' must name " +
                Twine(perDirection * directions));
  isUsual = clip == 0 && !lengths;
  for (auto [i, name] : llvm::enumerate(names))
    isUsual &= name == activations[i % perDirection];
  ArrayRef<int64_t> r = shapeOf(recurrence), x = shapeOf(sequence);
  if (r.size() != 3 || x.size() != 3 || r[0] != directions ||
      r[1] != gates * r[2] || (size != 0 && size != r[2]))
    return fail("the recurrence weights must be [directions, " + Twine(gates) +
                " * hidden_size, hidden_size]");
  hidden = r[2];
  if (isBatchFirst)
    sequence = node.transpose(sequence, {1, 0, 2});
  if (!sequence)
    return false;
  x = shapeOf(sequence);
  steps = x[0];
  batch = x[1];
  if (shapeOf(weights) != ArrayRef<int64_t>({directions, gates * hidden, x[2]}))
    return fail("the weights must be [directions, " + Twine(gates) +
                " * hidden_size, features]");
  if (bias &&
      shapeOf(bias) != ArrayRef<int64_t>({directions, 2 * gates * hidden}))
    return fail("the bias must be [directions, " + Twine(2 * gates) +
                " * hidden_size]");
  if (lengths && shapeOf(lengths) != ArrayRef<int64_t>(batch))
    return fail("the lengths must be one for each sequence");
  if (steps > kMaxSteps)
    return fail("has " + Twine(steps) + " steps of time; at most " +
                Twine(kMaxSteps) + " are supported");
  return true;
}

/// The contribution of the input to the gates at all steps, [T, N, gates * H].
Value Recurrent::inputGates(int64_t direction) {
  int64_t features = shapeOf(sequence)[2];
  Value rows = node.reshape(sequence, {steps * batch, features});
  Value result = node.emit<train::MatmulOp>(
      {rows, directionOf(weights, direction)}, node.flag("transpose_rhs"));
  if (bias && addsInputBias) {
    Value own = directionOf(bias, direction);
    Value first = node.part(own, 0, 0, gates * hidden);
    if (addsRecurrentBias)
      first = add(first, node.part(own, 0, gates * hidden, gates * hidden));
    result = add(result, first);
  }
  return node.reshape(result, {steps, batch, gates * hidden});
}

Value Recurrent::recur(int64_t direction, Value state, int64_t first,
                       int64_t count) {
  Value rows =
      node.part(recurrenceOf(direction), 0, first * hidden, count * hidden);
  return node.emit<train::MatmulOp>({state, rows}, node.flag("transpose_rhs"));
}

Value Recurrent::recurrentBias(int64_t direction, int64_t gate) {
  return bias ? node.part(directionOf(bias, direction), 0,
                          (gates + gate) * hidden, hidden)
              : Value();
}

Value Recurrent::clipped(Value value) {
  if (clip == 0)
    return value;
  OpBuilder &builder = node.graph.builder;
  return node.emit<train::ClipOp>(
      value, {node.attr("low", builder.getF64FloatAttr(-clip)),
              node.attr("high", builder.getF64FloatAttr(clip))});
}

Value Recurrent::activate(int64_t direction, unsigned which, Value value) {
  unsigned index = direction * perDirection + which;
  StringRef name = names[index];
  value = clipped(value);
  OpBuilder &builder = node.graph.builder;
  auto number = [&](StringRef as, const std::vector<double> &given,
                    double standard) {
    double chosen = index < given.size() ? given[index] : standard;
    return node.attr(as, builder.getF64FloatAttr(chosen));
  };
  if (name == "Sigmoid")
    return node.emit<train::SigmoidOp>(value);
  if (name == "Tanh")
    return node.emit<train::TanhOp>(value);
  if (name == "Relu")
    return node.emit<train::ReluOp>(value);
  if (name == "Softsign")
    return node.emit<train::SoftsignOp>(value);
  if (name == "Softplus")
    return node.emit<train::SoftplusOp>(value);
  if (name == "LeakyRelu")
    return node.emit<train::LeakyReluOp>(value, number("alpha", alphas, 0.01));
  if (name == "HardSigmoid")
    return node.emit<train::HardSigmoidOp>(
        value, {number("alpha", alphas, 0.2), number("beta", betas, 0.5)});
  if (!node.failed())
    node.error() << "activation '" << name << "' is not supported";
  return nullptr;
}

/// Input 5 + `index`, [directions, N, H]; zeros if it is missing.
Value Recurrent::initialState(unsigned index, int64_t direction) {
  if (!node.hasInput(5 + index))
    return node.broadcast(node.scalar(0), {batch, hidden});
  node.graph.useAsInitialState(node.graph.lookup(node.proto.input(5 + index)));
  Value states = node.floatInput(5 + index);
  if (states && isBatchFirst && shapeOf(states).size() == 3)
    states = node.transpose(states, {1, 0, 2});
  if (states &&
      shapeOf(states) != ArrayRef<int64_t>({directions, batch, hidden})) {
    node.shapeError() << "input " << 5 + index
                      << " must be [directions, batch, hidden_size]";
    return nullptr;
  }
  return directionOf(states, direction);
}

Value Recurrent::lastOf(int64_t direction, Value sequence) {
  int64_t last = startsAtEnd(direction) ? 0 : steps - 1;
  return node.reshape(node.part(sequence, 0, last, 1), {batch, hidden});
}

Value Recurrent::biasSum(int64_t direction) {
  if (!bias)
    return node.broadcast(node.scalar(0), {gates * hidden});
  Value own = directionOf(bias, direction);
  return add(node.part(own, 0, 0, gates * hidden),
             node.part(own, 0, gates * hidden, gates * hidden));
}

Value Recurrent::gruBias(int64_t direction) {
  if (!bias)
    return node.broadcast(node.scalar(0), {4 * hidden});
  Value own = directionOf(bias, direction);
  Value both = add(node.part(own, 0, 0, 2 * hidden),
                   node.part(own, 0, 3 * hidden, 2 * hidden));
  return node.emit<train::ConcatOp>({both,
                                     node.part(own, 0, 2 * hidden, hidden),
                                     node.part(own, 0, 5 * hidden, hidden)},
                                    node.i64("axis", 0));
}

LogicalResult Recurrent::runLayers(unsigned numStates, LayerBuilder layer) {
  SmallVector<SmallVector<Value>> lasts(numStates);
  SmallVector<Value> outputs;
  for (int64_t direction = 0; direction < directions; ++direction) {
    Value inputs = inputGates(direction);
    SmallVector<Value> states;
    for (unsigned i = 0; i < numStates; ++i)
      states.push_back(initialState(i, direction));
    if (node.failed())
      return failure();
    Layer results = layer(direction, inputs, states);
    outputs.push_back(
        node.reshape(results.sequence, {steps, 1, batch, hidden}));
    for (auto [i, last] : llvm::enumerate(results.lasts))
      lasts[i].push_back(node.reshape(last, {1, batch, hidden}));
  }
  return setOutputs(outputs, lasts);
}

LogicalResult Recurrent::run(unsigned numStates, Step step) {
  SmallVector<SmallVector<Value>> lasts(numStates);
  SmallVector<Value> outputs; // Outputs of each direction, [T, 1, N, H].
  for (int64_t direction = 0; direction < directions; ++direction) {
    Value inputs = inputGates(direction);
    SmallVector<Value> states, rows(steps);
    for (unsigned i = 0; i < numStates; ++i)
      states.push_back(initialState(i, direction));
    bool backward = startsAtEnd(direction);
    for (int64_t i = 0; i < steps && !node.failed(); ++i) {
      int64_t time = backward ? steps - 1 - i : i;
      Value input =
          node.reshape(node.part(inputs, 0, time, 1), {batch, gates * hidden});
      SmallVector<Value> next = step(direction, input, states);
      Value shown = next.empty() ? Value() : next[0];
      if (lengths && shown) {
        // A sequence that has ended keeps its state and outputs zeros.
        Value runs = node.compare(node.numberLike(lengths, time), lengths,
                                  train::Comparison::Less);
        runs = node.reshape(runs, {batch, 1});
        shown = node.emit<train::SelectOp>({runs, shown, node.scalar(0)});
        for (unsigned s = 0; s < numStates; ++s)
          next[s] = node.emit<train::SelectOp>({runs, next[s], states[s]});
      }
      states = next;
      if (shown)
        rows[time] = node.reshape(shown, {1, 1, batch, hidden});
    }
    if (node.failed())
      return failure();
    outputs.push_back(rows.size() == 1 ? rows[0]
                                       : node.emit<train::ConcatOp>(
                                             rows, node.i64("axis", 0)));
    for (unsigned i = 0; i < numStates; ++i)
      lasts[i].push_back(node.reshape(states[i], {1, batch, hidden}));
  }
  return setOutputs(outputs, lasts);
}

LogicalResult Recurrent::setOutputs(ArrayRef<Value> sequences,
                                    ArrayRef<SmallVector<Value>> lasts) {
  auto join = [&](ArrayRef<Value> parts, int64_t axis) {
    return parts.size() == 1
               ? parts[0]
               : node.emit<train::ConcatOp>(parts, node.i64("axis", axis));
  };
  Value all = join(sequences, 1);
  if (isBatchFirst)
    all = node.transpose(all, {2, 0, 1, 3});
  if (failed(node.setOutput(0, all)))
    return failure();
  for (unsigned i = 0; i < lasts.size(); ++i) {
    Value last = join(lasts[i], 0);
    if (isBatchFirst)
      last = node.transpose(last, {1, 0, 2});
    if (failed(node.setOutput(1 + i, last)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// h' = f(x W + h R)
static LogicalResult importRnn(ImportedNode &node) {
  Recurrent op(node, 1);
  if (!op.read({"Tanh"}))
    return failure();
  return op.run(1,
                [&](int64_t direction, Value input,
                    ArrayRef<Value> states) -> SmallVector<Value> {
                  Value sum =
                      op.add(input, op.recur(direction, states[0], 0, 1));
                  return {op.activate(direction, 0, sum)};
                });
}

/// GRU with the gates z (update), r (reset) and the candidate.
static LogicalResult importGru(ImportedNode &node) {
  Recurrent op(node, 3);
  bool afterProduct = node.boolAttr("linear_before_reset", false);
  op.addsRecurrentBias = false;
  if (!op.read({"Sigmoid", "Tanh"}))
    return failure();
  if (op.hasUsualSteps() && afterProduct) {
    op.addsInputBias = false;
    return op.runLayers(1,
                        [&](int64_t direction, Value input,
                            ArrayRef<Value> states) -> Recurrent::Layer {
                          Value sequence = node.emit<train::GruOp>(
                              {input, op.recurrenceOf(direction),
                               op.gruBias(direction), states[0]},
                              op.directionFlag(direction));
                          return {sequence, {op.lastOf(direction, sequence)}};
                        });
  }
  return op.run(
      1,
      [&](int64_t direction, Value input,
          ArrayRef<Value> states) -> SmallVector<Value> {
        Value state = states[0];
        auto plusBias = [&](Value value, int64_t gate) {
          Value bias = op.recurrentBias(direction, gate);
          return bias ? op.add(value, bias) : value;
        };
        Value product = op.recur(direction, state, 0, afterProduct ? 3 : 2);
        auto gateOf = [&](int64_t gate) {
          Value own = op.node.part(product, 1, gate * op.hidden, op.hidden);
          return op.activate(direction, 0,
                             op.add(op.gate(input, gate), plusBias(own, gate)));
        };
        Value update = gateOf(0), reset = gateOf(1), candidate;
        if (afterProduct) {
          Value own = op.node.part(product, 1, 2 * op.hidden, op.hidden);
          candidate = op.mul(reset, plusBias(own, 2));
        } else {
          candidate =
              plusBias(op.recur(direction, op.mul(reset, state), 2, 1), 2);
        }
        candidate =
            op.activate(direction, 1, op.add(op.gate(input, 2), candidate));
        // (1 - z) h~ + z h
        return {op.add(candidate, op.mul(update, op.sub(state, candidate)))};
      });
}

/// LSTM with the gates i, o, f and the candidate; peepholes read the cell.
static LogicalResult importLstm(ImportedNode &node) {
  Recurrent op(node, 4);
  bool couples = node.boolAttr("input_forget", false);
  if (!op.read({"Sigmoid", "Tanh", "Tanh"}))
    return failure();
  Value peepholes = node.hasInput(7) ? node.floatInput(7) : Value();
  if (peepholes &&
      shapeOf(peepholes) != ArrayRef<int64_t>({op.directions, 3 * op.hidden}))
    return node.shapeError()
           << "the peepholes must be [directions, 3 * hidden_size]";
  if (node.failed())
    return failure();
  if (op.hasUsualSteps() && !peepholes && !couples) {
    op.addsInputBias = false;
    return op.runLayers(2,
                        [&](int64_t direction, Value input,
                            ArrayRef<Value> states) -> Recurrent::Layer {
                          Operation *layer = node.emitOp<train::LstmOp>(
                              {input, op.recurrenceOf(direction),
                               op.biasSum(direction), states[0], states[1]},
                              op.directionFlag(direction));
                          if (!layer)
                            return {Value(), {Value(), Value()}};
                          return {layer->getResult(0),
                                  {op.lastOf(direction, layer->getResult(0)),
                                   layer->getResult(1)}};
                        });
  }
  return op.run(
      2,
      [&](int64_t direction, Value input,
          ArrayRef<Value> states) -> SmallVector<Value> {
        Value cell = states[1];
        Value all = op.add(input, op.recur(direction, states[0], 0, 4));
        auto gateOf = [&](int64_t gate, int64_t peephole, Value seen) {
          Value sum = op.gate(all, gate);
          if (peepholes) {
            Value row = op.node.part(op.node.part(peepholes, 0, direction, 1),
                                     1, peephole * op.hidden, op.hidden);
            sum = op.add(sum, op.mul(row, seen));
          }
          return op.activate(direction, 0, sum);
        };
        Value in = gateOf(0, 0, cell);
        Value forget =
            couples ? op.sub(node.scalar(1), in) : gateOf(2, 2, cell);
        Value candidate = op.activate(direction, 1, op.gate(all, 3));
        Value next = op.add(op.mul(forget, cell), op.mul(in, candidate));
        Value out = gateOf(1, 1, next);
        return {op.mul(out, op.activate(direction, 2, next)), next};
      });
}

ArrayRef<OpRow> mpc::recurrentOps() {
  static const OpRow rows[] = {
      {"RNN", 7, 3, 6, 2, importRnn},
      {"GRU", 7, 3, 6, 2, importGru},
      {"LSTM", 7, 3, 8, 3, importLstm},
  };
  return rows;
}
