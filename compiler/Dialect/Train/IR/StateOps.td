//===- StateOps.td - Weights, statistics, moments ----------*- tablegen -*-===//
//
// A state lives across steps. `parameter` states are what the optimizer
// trains; the optimizer pass replaces them by one packed state that holds all
// of them, so that the update is one streaming pass.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_STATEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_STATEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def StateParameter : I32EnumAttrCase<"Parameter", 0, "parameter">;
def StateStatistic : I32EnumAttrCase<"Statistic", 1, "statistic">;
def StateConstant : I32EnumAttrCase<"Constant", 2, "constant">;
def StateOptimizer : I32EnumAttrCase<"Optimizer", 3, "optimizer">;
def StateWorkingCopy : I32EnumAttrCase<"WorkingCopy", 4, "working_copy">;
def StateDerived : I32EnumAttrCase<"Derived", 6, "derived">;
def StateControl : I32EnumAttrCase<"Control", 5, "control">;
def Train_StateKind : I32EnumAttr<"StateKind", "what a state is for", [
    StateParameter, StateStatistic, StateConstant, StateOptimizer,
    StateWorkingCopy, StateControl, StateDerived]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_StateKindAttr : EnumAttr<Train_Dialect, Train_StateKind, "kind">;

def Train_StateOp : Train_Op<"state", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that lives across steps";
  let description = [{
    `parameter`: trained weights, f32. `statistic`: running mean and variance.
    `constant`: an initializer that is not trained. `optimizer`: moments and
    accumulated gradients. `working_copy`: the 16-bit copy of the parameter or
    constant state named by `copy_of`. `control`: step counter, learning rate, random
    seed, loss scale and its streak. `derived`: what the function @derive makes of
    the weights; it runs whenever they have changed.

    Without `initial_value` the state starts as zeros (a working copy: as the
    rounded parameters). `slots` name the tensors inside a packed state.

    (C1) `initial_value` has the type of the state.
    (C2) slots lie inside the state and do not overlap.
    (C3) a `working_copy`, and nothing else, names in `copy_of` a state of its
         shape.
    (C4) a `derived` state has no `initial_value`.

    With `own_names` the tensors inside go by the names of their slots alone, as
    those of weights and statistics always do, not by the state's and theirs.

    ```mlir
    train.state @fc1.weight parameter : tensor<64x32xf32> = dense<0.0> : tensor<64x32xf32>
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Train_StateKindAttr:$kind,
    TypeAttrOf<Train_Tensor>:$type,
    OptionalAttr<ElementsAttr>:$initial_value,           // state_c1
    OptionalAttr<TypedArrayAttrBase<Train_SlotAttr, "array of slots">>:$slots, // state_c2
    OptionalAttr<FlatSymbolRefAttr>:$copy_of,             // state_c3
    UnitAttr:$own_names
  );
  let assemblyFormat = [{
    $sym_name custom<StateKind>($kind) attr-dict `:` $type (`=` $initial_value^)?
  }];
  let hasVerifier = 1;
}

def Train_ReadOp : Train_Op<"read", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The value of a state at the entry of the function";
  let description = [{
    (C1) the symbol is a state of the result type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state); // read_c1
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Train_WriteOp : Train_Op<"write", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Give a state its value for the next step";
  let description = [{
    Takes effect when the function returns. One write per state and function.

    (C1) the symbol is a state of the value's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Train_Tensor:$value); // write_c1
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
}

def Train_PackOp : Train_Op<"pack", [Pure]> {
  let summary = "Lay tensors out one after the other in one";
  let description = [{
    Operand `i` occupies `offsets[i]` and on, row-major; gaps are zero. The
    plan lets the operands be computed in place, so that packing costs nothing.

    (C1) one offset per operand; operands lie inside the result, in order, and
         do not overlap.
    (C2) operands and result have one element type.
  }];
  let arguments = (ins Variadic<Train_Tensor>:$inputs, DenseI64ArrayAttr:$offsets); // pack_c1, pack_c2
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
}

def Train_UnpackOp : Train_Op<"unpack", [
    Pure, DeclareOpInterfaceMethods<PrecisionOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "One tensor of a packed one; a view, never a copy";
  let description = [{
    (C1) `offset` and the elements of the result lie inside the operand.
    (C2) operand and result have one element type.
  }];
  let arguments = (ins Train_Tensor:$packed, I64Attr:$offset); // unpack_c1, unpack_c2
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = "bool isView() { return true; }";
}

def Train_ConstantOp : Train_Op<"constant", [Pure, ConstantLike]> {
  let summary = "A small constant tensor";
  let description = [{
    (C1) `value` has the type of the result.
  }];
  let arguments = (ins ElementsAttr:$value); // constant_c1
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "attr-dict $value `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value), [{
    build($_builder, $_state, value.getShapedType(), value);
  }]>];
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_STATEOPS_TD
