//===- RecurrentOps.td - Recurrent layers ------------------*- tablegen -*-===//
//
// One layer in one direction. What depends on the state alone is inside: the
// products with the weights of the inputs are one `train.matmul` for all steps,
// and so are the gradients of all weights.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_RECURRENTOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_RECURRENTOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

// Only the weights may be 16-bit. A device without the kernel runs the op
// unrolled.
class Train_RecurrentOp<string mnemonic, list<Trait> traits = []>
    : Train_InferredOp<mnemonic, !listconcat(traits, [
        KernelMethods, Decomposes])> {
  let extraClassDeclaration = compatible # pins;
}

def Train_LstmOp : Train_RecurrentOp<"lstm", [Differentiable, RangeMethods]> {
  let summary = "The steps of an LSTM";
  let description = [{
    `input` [T, N, 4H] is the contribution of the inputs to the gates i
    (input), o (output), f (forget) and to the candidate g, in this order;
    `bias` [4H] is the sum of all biases. `hidden` and `cell` [N, H] are the
    states before the first step. With `reverse` the first step is T - 1. At
    each step, with R = `recurrence` [4H, H]:

      i, o, f = sigmoid(input + bias + hidden R')     the parts of each
      g       = tanh(input + bias + hidden R')
      cell    = f cell + i g
      hidden  = o tanh(cell)

    `result` [T, N, H] has the hidden states after all steps, `last_cell` [N, H]
    the cells after the last one. The gradient reads `gates` [T, N, 4H] and
    `cells` [T, N, H].

    (C1) `input` has rank 3 and `recurrence` rank 2.
    (C2) the last extent of `input` and the first of `recurrence` are 4H.
    (C3) `bias` is [4H].
    (C4) `hidden` and `cell` are [N, H].
  }];
  let arguments = (ins Train_FloatTensor:$input,
                   Train_FloatTensor:$recurrence, // lstm_c1, lstm_c2
                   Train_FloatTensor:$bias, // lstm_c3
                   Train_FloatTensor:$hidden, Train_FloatTensor:$cell, // lstm_c4
                   UnitAttr:$reverse);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$last_cell,
                 Train_FloatTensor:$gates, Train_FloatTensor:$cells);
}

def Train_LstmGradOp : Train_RecurrentOp<"lstm_grad"> {
  let summary = "Gradients of an LSTM's input and states";
  let description = [{
    `grad` and `last_cell_grad` are the gradients of the results of the forward
    op, `gates` and `cells` its other results. The gradients of `recurrence` and
    `bias` follow from `input_grad` without a recurrence.

    (C1) constraints as for `train.lstm`; all operands have the shapes that they
         have there.
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$last_cell_grad,
                   Train_FloatTensor:$recurrence, Train_FloatTensor:$cell,
                   Train_FloatTensor:$gates, Train_FloatTensor:$cells, // lstm_grad_c1
                   UnitAttr:$reverse);
  let results = (outs Train_FloatTensor:$input_grad,
                 Train_FloatTensor:$hidden_grad, Train_FloatTensor:$cell_grad);
}

def Train_GruOp : Train_RecurrentOp<"gru", [Differentiable, RangeMethods]> {
  let summary = "The steps of a GRU";
  let description = [{
    `input` [T, N, 3H] is the contribution of the inputs to the gates z (update)
    and r (reset) and to the candidate n, in this order. `bias` [4H] has the
    biases of z, r, and n, and then that of n's product with the state, which
    the reset gate multiplies. `hidden` [N, H] is the state before the first
    step. With `reverse` the first step is T - 1. At each step, with R =
    `recurrence` [3H, H]:

      z, r    = sigmoid(input + bias + hidden R')     the parts of each
      product = hidden R' + bias                      its last part
      n       = tanh(input + bias + r product)
      hidden  = (1 - z) n + z hidden

    This is ONNX's GRU with `linear_before_reset`. `result` [T, N, H] has the
    states after all steps. The gradient reads `gates` [T, N, 3H] and `products`
    [T, N, H].

    (C1) `input` has rank 3 and `recurrence` rank 2.
    (C2) the last extent of `input` and the first of `recurrence` are 3H.
    (C3) `bias` is [4H].
    (C4) `hidden` is [N, H].
  }];
  let arguments = (ins Train_FloatTensor:$input,
                   Train_FloatTensor:$recurrence, // gru_c1, gru_c2
                   Train_FloatTensor:$bias, // gru_c3
                   Train_FloatTensor:$hidden, // gru_c4
                   UnitAttr:$reverse);
  let results = (outs Train_FloatTensor:$result, Train_FloatTensor:$gates,
                 Train_FloatTensor:$products);
}

def Train_GruGradOp : Train_RecurrentOp<"gru_grad"> {
  let summary = "Gradients of a GRU's input, products and state";
  let description = [{
    `grad` is the gradient of `states`, the result of the forward op, `gates`
    and `products` are its other results. `recurrent_grad` [T, N, 3H] is the
    gradient of the products with the weights, which differs from `input_grad`
    in its last part. The gradients of `recurrence` and `bias` follow from both
    without a recurrence.

    (C1) constraints as for `train.gru`; all operands have the shapes that they
         have there.
  }];
  let arguments = (ins Train_FloatTensor:$grad, Train_FloatTensor:$recurrence,
                   Train_FloatTensor:$hidden, Train_FloatTensor:$states,
                   Train_FloatTensor:$gates, Train_FloatTensor:$products, // gru_grad_c1
                   UnitAttr:$reverse);
  let results = (outs Train_FloatTensor:$input_grad,
                 Train_FloatTensor:$recurrent_grad,
                 Train_FloatTensor:$hidden_grad);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_RECURRENTOPS_TD
