//===- Gru.cpp - The steps of a GRU ---------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Recurrent/Steps.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// z, r and the candidate.
static constexpr int64_t kGruGates = 3;
/// The parts of the bias.
static constexpr int64_t kGruBiases = 4;

/// The last part of the columns [.., parts * width].
static Value lastPart(OpBuilder &builder, Location loc, Value value,
                      int64_t width) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape()), offsets(shape.size(), 0);
  offsets.back() = shape.back() - width;
  shape.back() = width;
  return SliceOp::create(builder, loc, type.clone(shape), value,
                         builder.getDenseI64ArrayAttr(offsets));
}

//===----------------------------------------------------------------------===//
// GruOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(GruOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  ArrayRef<int64_t> recurrence = shapeOf(op.getRecurrence());
  if (input.size() != 3 || recurrence.size() != 2) // gru_c1
    return error("input and recurrence must have ranks 3 and 2, but have ",
                 input.size(), " and ", recurrence.size());
  int64_t hidden = recurrence[1];
  if (recurrence[0] != kGruGates * hidden ||
      input[2] != kGruGates * hidden) // gru_c2
    return error("an input of [", input, "] needs a recurrence of [", input[2],
                 ", a third of that], but it is [", recurrence, "]");
  int64_t states[] = {input[0], input[1], hidden};
  if (failed(checkShape("bias", op.getBias(), {kGruBiases * hidden},
                        error)) || // gru_c3
      failed(checkShape("hidden", op.getHidden(), ArrayRef(states).drop_front(),
                        error))) // gru_c4
    return failure();
  Type ofStates = typeLike(op.getInput(), states);
  llvm::append_values(types, ofStates, op.getInput().getType(), ofStates);
  return success();
}
MPC_INFER(GruOp, inferTypes)

LogicalResult GruOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  if (resultGrads[1] || resultGrads[2])
    return emitOpError("has no gradient through 'gates' and 'products'; only "
                       "its first result may lead to the loss");
  Location loc = gradientLoc(getLoc());
  auto grad = GruGradOp::create(builder, loc, resultGrads[0], getRecurrence(),
                                getHidden(), getResult(), getGates(),
                                getProducts(), getReverseAttr());
  operandGrads[0] = grad.getInputGrad();
  if (needed[1])
    operandGrads[1] = buildRecurrenceGrad(
        builder, loc, grad.getRecurrentGrad(), getHidden(), getResult(),
        getReverse(), isParameter(getRecurrence()));
  if (needed[2]) {
    int64_t width = shapeOf(getHidden())[1];
    Value products = lastPart(builder, loc, grad.getRecurrentGrad(), width);
    Value parts[] = {
        sumToShape(builder, loc, grad.getInputGrad(), {kGruGates * width}),
        sumToShape(builder, loc, products, {width})};
    operandGrads[2] = ConcatOp::create(builder, loc, ValueRange(parts), 0);
  }
  operandGrads[3] = grad.getHiddenGrad();
  return success();
}

MPC_OP_FACTS(GruOp, Low,
             countElements(getGates()) *
                     (2 * shapeOf(getRecurrence())[1] + 10) +
                 8 * countElements(getProducts()),
             "16-bit weights; sums, gates and states in f32")
bool GruOp::isOperandPinned(unsigned index) { return index != 1; }
bool GruOp::isResultPinned(unsigned) { return true; }

StringRef GruOp::getKernelName() { return "gru"; }
SmallVector<int64_t> GruOp::getKernelAttributes() { return {getReverse()}; }

void GruOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Steps s(builder, getLoc(), getInput(), getReverse());
  int64_t width = shapeOf(getHidden())[1];
  int64_t sizes[] = {kGruGates * width, width};
  auto biases = SplitOp::create(builder, getLoc(), getBias(), 0, sizes);
  Value input = s.add(getInput(), biases.getParts()[0]);
  Value hidden = getHidden();
  SmallVector<Value> states(s.count), gates(s.count), products(s.count);
  for (int64_t step = 0; step < s.count; ++step) {
    int64_t at = s.position(step);
    SmallVector<Value> inputs = s.split(s.at(input, at), width);
    SmallVector<Value> own = s.split(
        s.multiply(hidden, getRecurrence(), /*transposeRhs=*/true), width);
    Value update = s.sigmoid(s.add(inputs[0], own[0]));
    Value reset = s.sigmoid(s.add(inputs[1], own[1]));
    products[at] = s.add(own[2], biases.getParts()[1]);
    Value candidate = s.tanh(s.add(inputs[2], s.mul(reset, products[at])));
    hidden = s.add(candidate, s.mul(update, s.sub(hidden, candidate)));
    states[at] = hidden;
    gates[at] = s.join({update, reset, candidate});
  }
  results.assign({s.stack(states), s.stack(gates), s.stack(products)});
}

//===----------------------------------------------------------------------===//
// GruGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(GruGradOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> states = shapeOf(op.getGrad()); // gru_grad_c1
  if (states.size() != 3)
    return error("'grad' must have rank 3, but has rank ", states.size());
  int64_t hidden = states[2];
  int64_t recurrence[] = {kGruGates * hidden, hidden};
  int64_t gates[] = {states[0], states[1], kGruGates * hidden};
  if (failed(checkShape("recurrence", op.getRecurrence(), recurrence, error)) ||
      failed(
          checkShape("hidden", op.getHidden(), states.drop_front(), error)) ||
      failed(checkShape("states", op.getStates(), states, error)) ||
      failed(checkShape("gates", op.getGates(), gates, error)) ||
      failed(checkShape("products", op.getProducts(), states, error)))
    return failure();
  Type ofGates = typeLike(op.getGrad(), gates);
  llvm::append_values(types, ofGates, ofGates,
                      typeLike(op.getGrad(), states.drop_front()));
  return success();
}
MPC_INFER(GruGradOp, inferTypes)

MPC_OP_FACTS(GruGradOp, Low,
             countElements(getGates()) * (2 * shapeOf(getRecurrence())[1] + 6) +
                 4 * countElements(getProducts()),
             "16-bit weights; sums, gates and states in f32")
bool GruGradOp::isOperandPinned(unsigned index) { return index != 1; }
bool GruGradOp::isResultPinned(unsigned) { return true; }

StringRef GruGradOp::getKernelName() { return "gru_grad"; }
SmallVector<int64_t> GruGradOp::getKernelAttributes() { return {getReverse()}; }

void GruGradOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Steps s(builder, getLoc(), getGrad(), getReverse());
  int64_t width = shapeOf(getHidden())[1];
  Value hiddenGrad;
  SmallVector<Value> inputGrads(s.count), recurrentGrads(s.count);
  for (int64_t step = s.count - 1; step >= 0; --step) {
    int64_t at = s.position(step);
    Value grad = s.at(getGrad(), at);
    if (hiddenGrad)
      grad = s.add(grad, hiddenGrad);
    SmallVector<Value> gates = s.split(s.at(getGates(), at), width);
    Value update = gates[0], reset = gates[1], candidate = gates[2];
    Value before =
        step == 0 ? getHidden() : s.at(getStates(), s.position(step - 1));
    // grad (1 - z), where grad z goes to the state before.
    Value kept = s.mul(grad, update);
    Value input = s.tanhGrad(s.sub(grad, kept), candidate);
    Value ofUpdate =
        s.sigmoidGrad(s.mul(grad, s.sub(before, candidate)), update);
    Value ofReset = s.sigmoidGrad(s.mul(input, s.at(getProducts(), at)), reset);
    inputGrads[at] = s.join({ofUpdate, ofReset, input});
    recurrentGrads[at] = s.join({ofUpdate, ofReset, s.mul(input, reset)});
    hiddenGrad = s.add(kept, s.multiply(recurrentGrads[at], getRecurrence(),
                                        /*transposeRhs=*/false));
  }
  results.assign({s.stack(inputGrads), s.stack(recurrentGrads), hiddenGrad});
}
