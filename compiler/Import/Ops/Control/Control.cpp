//===- Control.cpp - Import of If, Loop and Scan --------------------------===//
//
// Known conditions and trip counts give straight-line code: only the branch
// that is taken, and unrolled loops. If a condition is data, both branches run
// and a select chooses; gradients flow back through the branch that is taken.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mpc;

using Shared = std::shared_ptr<GraphValue>;

/// Maximum number of unrolled iterations.
constexpr int64_t kMaxTrips = 4096;

static const onnx::GraphProto *graphAttr(ImportedNode &node, StringRef name) {
  const auto *attribute = node.typedAttr(name, onnx::AttributeProto::GRAPH);
  if (!attribute && !node.failed())
    node.error() << Fault::BadAttribute << "attribute '" << name
                 << "' is missing";
  return attribute ? &attribute->g() : nullptr;
}

static Shared shared(ImportedNode &node, Value value) {
  return std::make_shared<GraphValue>(
      GraphValue{value, nullptr, false, {}, node.loc});
}

static Shared known(ImportedNode &node, const KnownTensor &value) {
  return std::make_shared<GraphValue>(
      GraphValue{{}, nullptr, false, value.attribute(), node.loc});
}

/// Imports the nodes of a body and returns its outputs.
static std::optional<SmallVector<Shared>> runBody(ImportedNode &node,
                                                  const onnx::GraphProto &body,
                                                  ArrayRef<Shared> inputs) {
  if (node.failed() || int(inputs.size()) != body.input_size()) {
    if (!node.failed())
      node.error() << Fault::OperandCount << "gives its body " << inputs.size()
                   << " inputs, but the body takes " << body.input_size();
    return std::nullopt;
  }
  for (auto [input, value] : llvm::zip(body.input(), inputs))
    node.graph.define(input.name(), value);
  if (mlir::failed(node.graph.importBody(body))) {
    node.fail();
    return std::nullopt;
  }
  SmallVector<Shared> outputs;
  for (const onnx::ValueInfoProto &output : body.output())
    outputs.push_back(node.graph.share(output.name()));
  return outputs;
}

/// The value of a bool that must be known.
static std::optional<bool> knownBool(ImportedNode &node, const Shared &value,
                                     StringRef label) {
  if (!value->isSequence && node.graph.isConstant(*value)) {
    auto read = node.graph.readConstant(*value, node.loc, label);
    if (read && read->size() == 1)
      return read->number(0) != 0;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

/// Selects one of two tensors of one type.
static Value choose(ImportedNode &node, Value condition, const Shared &yes,
                    const Shared &no) {
  Value a = node.graph.materialize(*yes), b = node.graph.materialize(*no);
  if (!a || !b) {
    node.fail();
    return nullptr;
  }
  if (a.getType() != b.getType()) {
    node.error() << Fault::ShapeMismatch
                 << "its condition depends on data, but one branch gives "
                 << typeText(a.getType()) << ", the other "
                 << typeText(b.getType());
    return nullptr;
  }
  return node.emit<train::SelectOp>({condition, a, b});
}

/// A branch whose inputs must get zero gradients if the other branch is taken:
/// in its backward pass, 0 may be multiplied by infinity or NaN.
class Branch {
public:
  /// The branch consists of the ops that are built from now on.
  explicit Branch(ImportedNode &node)
      : node(node), block(*node.graph.builder.getInsertionBlock()),
        last(block.empty() ? nullptr : &block.back()) {}

  /// Lets gradients pass only if `condition` equals `isTaken`.
  void guard(Value condition, bool isTaken);

private:
  Value guarded(Value value, Value condition, bool isTaken);

  ImportedNode &node;
  Block &block;
  Operation *last; ///< The op before the branch; null if there is none.
};

void Branch::guard(Value condition, bool isTaken) {
  llvm::SetVector<Operation *> ops;
  auto first = last ? std::next(last->getIterator()) : block.begin();
  for (Operation &op : llvm::make_range(first, block.end()))
    ops.insert(&op);
  llvm::DenseMap<Value, Value> guards;
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      Operation *source = value.getDefiningOp();
      bool isInside = source && ops.contains(source);
      // A parameter is read where it is first needed, also for other nodes.
      bool isOwn = isInside && !isa<train::ReadOp>(source);
      if (!isFloat(value) || isOwn ||
          isa_and_present<train::ConstantOp>(source))
        continue;
      Value &other = guards[value];
      if (!other) {
        OpBuilder::InsertionGuard here(node.graph.builder);
        node.graph.builder.setInsertionPoint(isInside ? source->getNextNode()
                                                      : ops.front());
        other = guarded(value, condition, isTaken);
      }
      operand.set(other);
    }
}

Value Branch::guarded(Value value, Value condition, bool isTaken) {
  OpBuilder &builder = node.graph.builder;
  Value stopped =
      train::StopGradientOp::create(builder, node.loc, value.getType(), value);
  return train::SelectOp::create(builder, node.loc, condition,
                                 isTaken ? value : stopped,
                                 isTaken ? stopped : value);
}

static LogicalResult importIf(ImportedNode &node) {
  const auto *yes = graphAttr(node, "then_branch");
  const auto *no = graphAttr(node, "else_branch");
  if (node.failed())
    return failure();
  int count = node.proto.output_size();
  if (yes->output_size() < count || no->output_size() < count)
    return node.error() << Fault::OperandCount
                        << "has more outputs than its branches";
  Shared condition = node.graph.share(node.proto.input(0));
  std::optional<bool> isTrue = knownBool(node, condition, "the condition");
  if (isTrue) {
    auto outputs = runBody(node, *isTrue ? *yes : *no, {});
    for (int i = 0; outputs && i < count; ++i)
      if (failed(node.setShared(i, (*outputs)[i])))
        return failure();
    return success(outputs.has_value());
  }
  Value chooses = node.input(0);
  if (node.failed())
    return failure();
  if (!getElementTypeOrSelf(chooses.getType()).isInteger(1))
    return node.shapeError() << "the condition must be bool";
  chooses = node.reshape(chooses, {});
  if (node.failed())
    return failure();
  Branch thenBranch(node);
  auto ofYes = runBody(node, *yes, {});
  if (!ofYes)
    return failure();
  thenBranch.guard(chooses, /*isTaken=*/true);
  Branch elseBranch(node);
  auto ofNo = runBody(node, *no, {});
  if (!ofNo)
    return failure();
  elseBranch.guard(chooses, /*isTaken=*/false);
  for (int i = 0; i < count; ++i)
    if (failed(
            node.setOutput(i, choose(node, chooses, (*ofYes)[i], (*ofNo)[i]))))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Loop and Scan
//===----------------------------------------------------------------------===//

/// Stacks the values of all iterations in a new dimension `axis`.
static Shared stack(ImportedNode &node, ArrayRef<Shared> trips, int64_t axis) {
  if (trips.empty()) {
    node.error()
        << "stacks results of zero iterations: the result would be empty";
    return nullptr;
  }
  SmallVector<Value> parts;
  for (const Shared &trip : trips) {
    Value value = node.graph.materialize(*trip);
    if (!value) {
      node.fail();
      return nullptr;
    }
    SmallVector<int64_t> shape(shapeOf(value));
    int64_t at = axis < 0 ? axis + int64_t(shape.size()) + 1 : axis;
    if (at < 0 || at > int64_t(shape.size())) {
      node.error() << Fault::BadAttribute << "stacks results in dimension "
                   << axis << ", which does not exist";
      return nullptr;
    }
    axis = at;
    shape.insert(shape.begin() + at, 1);
    parts.push_back(node.reshape(value, shape));
  }
  Value all = parts.size() == 1
                  ? parts[0]
                  : node.emit<train::ConcatOp>(parts, node.i64("axis", axis));
  return shared(node, all);
}

static LogicalResult importLoop(ImportedNode &node) {
  const auto *body = graphAttr(node, "body");
  if (!body)
    return failure();
  constexpr int64_t kForever = std::numeric_limits<int64_t>::max();
  int64_t trips = kForever;
  if (node.hasInput(0))
    trips = node.knownInteger(0);
  bool runs = true;
  if (node.hasInput(1)) {
    auto known =
        knownBool(node, node.graph.share(node.proto.input(1)), "the condition");
    if (!known)
      return node.error() << Fault::NotConstant
                          << "the condition must be known at compile time";
    runs = *known;
  }
  auto numCarried = std::max(int(node.numInputs()) - 2, 0);
  int numStacked = body->output_size() - 1 - numCarried;
  if (!node.failed() &&
      (numStacked < 0 || body->input_size() != numCarried + 2 ||
       node.proto.output_size() > numCarried + numStacked))
    node.error() << Fault::OperandCount << "its body has " << body->input_size()
                 << " inputs and " << body->output_size() << " outputs, for "
                 << numCarried << " carried values";
  if (node.failed())
    return failure();
  SmallVector<Shared> carried;
  for (int i = 0; i < numCarried; ++i)
    carried.push_back(node.graph.share(node.proto.input(2 + i)));
  std::vector<SmallVector<Shared>> stacked(numStacked);
  Type i64 = node.graph.builder.getI64Type(),
       i1 = node.graph.builder.getI1Type();
  for (int64_t trip = 0; runs && trip < trips; ++trip) {
    if (trip == kMaxTrips)
      return node.error() << "runs more than " << kMaxTrips << " iterations";
    SmallVector<Shared> inputs = {known(node, KnownTensor{i64, {}, {}, {trip}}),
                                  known(node, KnownTensor{i1, {}, {}, {1}})};
    inputs.append(carried);
    auto outputs = runBody(node, *body, inputs);
    if (!outputs)
      return failure();
    auto continues = knownBool(node, (*outputs)[0], "the condition");
    if (!continues)
      return node.error() << Fault::NotConstant
                          << "whether it continues after iteration " << trip
                          << " depends on data, which is not supported";
    runs = *continues;
    for (int i = 0; i < numCarried; ++i)
      carried[i] = (*outputs)[1 + i];
    for (int i = 0; i < numStacked; ++i)
      stacked[i].push_back((*outputs)[1 + numCarried + i]);
  }
  for (int i = 0; i < node.proto.output_size(); ++i) {
    if (node.proto.output(i).empty())
      continue;
    Shared value = i < numCarried ? carried[i]
                   : node.isOutputUsed(i)
                       ? stack(node, stacked[i - numCarried], 0)
                       : nullptr;
    if (node.failed() || (value && failed(node.setShared(i, value))))
      return failure();
  }
  return success();
}

static SmallVector<int64_t> listAttr(ImportedNode &node, StringRef name,
                                     size_t count) {
  auto values = node.intsAttr(name);
  if (values && values->size() != count && !node.failed())
    node.error() << Fault::BadAttribute << "attribute '" << name
                 << "' must have " << count << " entries";
  return values && values->size() == count ? *values
                                           : SmallVector<int64_t>(count, 0);
}

static LogicalResult importScan(ImportedNode &node) {
  const auto *body = graphAttr(node, "body");
  int64_t numScanned = node.intAttr("num_scan_inputs", 0);
  int64_t numInputs = node.numInputs();
  if (!node.failed() && (numScanned < 1 || numScanned > numInputs))
    node.error() << Fault::BadAttribute << "attribute 'num_scan_inputs' is "
                 << numScanned << ", but must be from 1 to " << numInputs;
  if (node.failed())
    return failure();
  int64_t numStates = numInputs - numScanned;
  int64_t numStacked = body ? body->output_size() - numStates : 0;
  if (!node.failed() && (numStacked < 0 || body->input_size() != numInputs ||
                         node.proto.output_size() > body->output_size()))
    node.error() << Fault::OperandCount
                 << "its body does not fit its inputs and outputs";
  if (node.failed())
    return failure();
  SmallVector<int64_t> axes = listAttr(node, "scan_input_axes", numScanned);
  SmallVector<int64_t> backward =
      listAttr(node, "scan_input_directions", numScanned);
  SmallVector<int64_t> outAxes = listAttr(node, "scan_output_axes", numStacked);
  SmallVector<int64_t> outBackward =
      listAttr(node, "scan_output_directions", numStacked);
  SmallVector<Shared> states;
  SmallVector<Value> scanned;
  for (int64_t i = 0; i < numStates; ++i)
    states.push_back(node.graph.share(node.proto.input(i)));
  int64_t trips = -1;
  for (int64_t i = 0; i < numScanned && !node.failed(); ++i) {
    Value value = node.input(numStates + i);
    if (node.failed())
      return failure();
    axes[i] = node.normalizeAxis(axes[i], shapeOf(value).size(), "an axis");
    if (node.failed())
      return failure();
    int64_t extent = shapeOf(value)[axes[i]];
    if (trips >= 0 && extent != trips)
      return node.shapeError() << "scans inputs of different lengths";
    trips = extent;
    scanned.push_back(value);
  }
  if (trips > kMaxTrips)
    return node.error() << "runs more than " << kMaxTrips << " iterations";
  std::vector<SmallVector<Shared>> stacked(numStacked);
  for (int64_t trip = 0; trip < trips; ++trip) {
    SmallVector<Shared> inputs(states);
    for (auto [value, axis, back] : llvm::zip_equal(scanned, axes, backward)) {
      Value part = node.part(value, axis, back ? trips - 1 - trip : trip, 1);
      SmallVector<int64_t> box(shapeOf(value));
      box.erase(box.begin() + axis);
      inputs.push_back(shared(node, node.reshape(part, box)));
    }
    auto outputs = runBody(node, *body, inputs);
    if (!outputs)
      return failure();
    for (int64_t i = 0; i < numStates; ++i)
      states[i] = (*outputs)[i];
    for (int64_t i = 0; i < numStacked; ++i)
      stacked[i].push_back((*outputs)[numStates + i]);
  }
  for (int64_t i = 0; i < node.proto.output_size(); ++i) {
    if (node.proto.output(i).empty())
      continue;
    Shared value;
    if (i < numStates) {
      value = states[i];
    } else if (node.isOutputUsed(i)) {
      auto &trips = stacked[i - numStates];
      if (outBackward[i - numStates])
        std::reverse(trips.begin(), trips.end());
      value = stack(node, trips, outAxes[i - numStates]);
    }
    if (node.failed() || (value && failed(node.setShared(i, value))))
      return failure();
  }
  return success();
}

ArrayRef<OpRow> mpc::controlOps() {
  static const OpRow rows[] = {
      {"If", 11, 1, 1, kAnyNumber, importIf},
      {"Loop", 11, 0, kAnyNumber, kAnyNumber, importLoop, nullptr, false, true,
       /*firstVariadic=*/2},
      {"Scan", 11, 1, kAnyNumber, kAnyNumber, importScan},
  };
  return rows;
}
