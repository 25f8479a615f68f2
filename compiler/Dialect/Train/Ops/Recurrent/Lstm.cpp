//===- Lstm.cpp - The steps of an LSTM ------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Recurrent/Steps.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// i, o, f and the candidate.
static constexpr int64_t kLstmGates = 4;

//===----------------------------------------------------------------------===//
// LstmOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(LstmOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> input = shapeOf(op.getInput());
  ArrayRef<int64_t> recurrence = shapeOf(op.getRecurrence());
  if (input.size() != 3 || recurrence.size() != 2) // lstm_c1
    return error("input and recurrence must have ranks 3 and 2, but have ",
                 input.size(), " and ", recurrence.size());
  int64_t steps = input[0], batch = input[1], hidden = recurrence[1];
  if (recurrence[0] != kLstmGates * hidden ||
      input[2] != kLstmGates * hidden) // lstm_c2
    return error("an input of [", input, "] needs a recurrence of [", input[2],
                 ", a quarter of that], but it is [", recurrence, "]");
  int64_t state[] = {batch, hidden};
  if (failed(checkShape("bias", op.getBias(), {kLstmGates * hidden},
                        error)) ||                                  // lstm_c3
      failed(checkShape("hidden", op.getHidden(), state, error)) || // lstm_c4
      failed(checkShape("cell", op.getCell(), state, error)))
    return failure();
  Type states = typeLike(op.getInput(), {steps, batch, hidden});
  llvm::append_values(types, states, typeLike(op.getInput(), state),
                      op.getInput().getType(), states);
  return success();
}
MPC_INFER(LstmOp, inferTypes)

LogicalResult LstmOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  if (resultGrads[2] || resultGrads[3])
    return emitOpError("has no gradient through 'gates' and 'cells'; only its "
                       "first two results may lead to the loss");
  Location loc = gradientLoc(getLoc());
  auto gradOf = [&](unsigned result) {
    Value grad = resultGrads[result];
    return grad ? grad : createZeros(builder, loc, getResults()[result]);
  };
  auto grad =
      LstmGradOp::create(builder, loc, gradOf(0), gradOf(1), getRecurrence(),
                         getCell(), getGates(), getCells(), getReverseAttr());
  operandGrads[0] = grad.getInputGrad();
  if (needed[1])
    operandGrads[1] = buildRecurrenceGrad(
        builder, loc, grad.getInputGrad(), getHidden(), getResult(),
        getReverse(), isParameter(getRecurrence()));
  if (needed[2])
    operandGrads[2] =
        sumToShape(builder, loc, grad.getInputGrad(), shapeOf(getBias()));
  operandGrads[3] = grad.getHiddenGrad();
  operandGrads[4] = grad.getCellGrad();
  return success();
}

// A product, and three sigmoids, two tanh and four more for each unit.
MPC_OP_FACTS(LstmOp, Low,
             countElements(getGates()) *
                     (2 * shapeOf(getRecurrence())[1] + 10) +
                 24 * countElements(getCells()),
             "16-bit weights; sums, gates and states in f32")
bool LstmOp::isOperandPinned(unsigned index) { return index != 1; }
bool LstmOp::isResultPinned(unsigned) { return true; }

StringRef LstmOp::getKernelName() { return "lstm"; }
SmallVector<int64_t> LstmOp::getKernelAttributes() { return {getReverse()}; }

void LstmOp::decompose(OpBuilder &builder, SmallVectorImpl<Value> &results) {
  Steps s(builder, getLoc(), getInput(), getReverse());
  int64_t width = shapeOf(getCell())[1];
  Value input = s.add(getInput(), getBias());
  Value hidden = getHidden(), cell = getCell();
  SmallVector<Value> states(s.count), gates(s.count), cells(s.count);
  for (int64_t step = 0; step < s.count; ++step) {
    int64_t at = s.position(step);
    Value sums = s.add(s.at(input, at), s.multiply(hidden, getRecurrence(),
                                                   /*transposeRhs=*/true));
    SmallVector<Value> parts = s.split(sums, width);
    for (Value &gate : MutableArrayRef(parts).drop_back())
      gate = s.sigmoid(gate);
    parts[3] = s.tanh(parts[3]);
    cell = s.add(s.mul(parts[2], cell), s.mul(parts[0], parts[3]));
    hidden = s.mul(parts[1], s.tanh(cell));
    states[at] = hidden;
    gates[at] = s.join(parts);
    cells[at] = cell;
  }
  results.assign({s.stack(states), cell, s.stack(gates), s.stack(cells)});
}

//===----------------------------------------------------------------------===//
// LstmGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(LstmGradOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> states = shapeOf(op.getGrad()); // lstm_grad_c1
  if (states.size() != 3)
    return error("'grad' must have rank 3, but has rank ", states.size());
  int64_t hidden = states[2];
  int64_t state[] = {states[1], hidden};
  int64_t recurrence[] = {kLstmGates * hidden, hidden};
  int64_t gates[] = {states[0], states[1], kLstmGates * hidden};
  if (failed(
          checkShape("last_cell_grad", op.getLastCellGrad(), state, error)) ||
      failed(checkShape("recurrence", op.getRecurrence(), recurrence, error)) ||
      failed(checkShape("cell", op.getCell(), state, error)) ||
      failed(checkShape("gates", op.getGates(), gates, error)) ||
      failed(checkShape("cells", op.getCells(), states, error)))
    return failure();
  Type ofState = typeLike(op.getGrad(), state);
  llvm::append_values(types, typeLike(op.getGrad(), gates), ofState, ofState);
  return success();
}
MPC_INFER(LstmGradOp, inferTypes)

MPC_OP_FACTS(LstmGradOp, Low,
             countElements(getGates()) * (2 * shapeOf(getRecurrence())[1] + 4) +
                 20 * countElements(getCells()),
             "16-bit weights; sums, gates and states in f32")
bool LstmGradOp::isOperandPinned(unsigned index) { return index != 2; }
bool LstmGradOp::isResultPinned(unsigned) { return true; }

StringRef LstmGradOp::getKernelName() { return "lstm_grad"; }
SmallVector<int64_t> LstmGradOp::getKernelAttributes() {
  return {getReverse()};
}

void LstmGradOp::decompose(OpBuilder &builder,
                           SmallVectorImpl<Value> &results) {
  Steps s(builder, getLoc(), getGrad(), getReverse());
  int64_t width = shapeOf(getCell())[1];
  Value hiddenGrad, cellGrad = getLastCellGrad();
  SmallVector<Value> inputGrads(s.count);
  for (int64_t step = s.count - 1; step >= 0; --step) {
    int64_t at = s.position(step);
    Value grad = s.at(getGrad(), at);
    if (hiddenGrad)
      grad = s.add(grad, hiddenGrad);
    SmallVector<Value> gates = s.split(s.at(getGates(), at), width);
    Value in = gates[0], out = gates[1], forget = gates[2],
          candidate = gates[3];
    Value before =
        step == 0 ? getCell() : s.at(getCells(), s.position(step - 1));
    Value squashed = s.tanh(s.at(getCells(), at));
    cellGrad = s.add(cellGrad, s.tanhGrad(s.mul(grad, out), squashed));
    inputGrads[at] = s.join({s.sigmoidGrad(s.mul(cellGrad, candidate), in),
                             s.sigmoidGrad(s.mul(grad, squashed), out),
                             s.sigmoidGrad(s.mul(cellGrad, before), forget),
                             s.tanhGrad(s.mul(cellGrad, in), candidate)});
    hiddenGrad = s.multiply(inputGrads[at], getRecurrence(),
                            /*transposeRhs=*/false);
    cellGrad = s.mul(cellGrad, forget);
  }
  results.assign({s.stack(inputGrads), hiddenGrad, cellGrad});
}
