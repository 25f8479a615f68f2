//===- StateOps.td - Weights, statistics, moments ----------*- tablegen -*-===//
//
// A state lives across steps. The optimizer trains the `parameter` states; the
// optimizer pass replaces them with one packed state that holds all of them, so that
// the update is one streaming pass.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_STATEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_STATEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

// The roles of states. StateRoles.cpp has the kind and the usual name of each; the
// values are those of packages (program.fbs).
def StateParameter : I32EnumAttrCase<"Parameter", 1, "parameter">;
def StateStatistic : I32EnumAttrCase<"Statistic", 2, "statistic">;
def StateConstant : I32EnumAttrCase<"Constant", 3, "constant">;
// Another state of the optimizer: one that an own step keeps, or a moment that only
// one optimizer has.
def StateOptimizer : I32EnumAttrCase<"Optimizer", 4, "optimizer">;
def StateFirstMoment : I32EnumAttrCase<"FirstMoment", 5, "first_moment">;
def StateSecondMoment : I32EnumAttrCase<"SecondMoment", 6, "second_moment">;
def StateGradientSum : I32EnumAttrCase<"GradientSum", 7, "gradient_sum">;
def StateAverage : I32EnumAttrCase<"Average", 8, "average">;
def StateCompensation : I32EnumAttrCase<"Compensation", 9, "compensation">;
// The state `of` as micro-batches since the last update left it.
def StatePending : I32EnumAttrCase<"Pending", 10, "pending">;
def StatePendingControl : I32EnumAttrCase<"PendingControl", 11, "pending_control">;
def StateFp8Scales : I32EnumAttrCase<"Fp8Scales", 12, "fp8_scales">;
def StateFp8History : I32EnumAttrCase<"Fp8History", 13, "fp8_history">;
def StateFp8Amax : I32EnumAttrCase<"Fp8Amax", 14, "fp8_amax">;
def StateWorkingCopy : I32EnumAttrCase<"WorkingCopy", 15, "working_copy">;
def StateDerived : I32EnumAttrCase<"Derived", 16, "derived">;
// Single numbers: one that an own step keeps, then those that mpc gives a meaning.
def StateControl : I32EnumAttrCase<"Control", 17, "control">;
def StateStepCount : I32EnumAttrCase<"StepCount", 18, "step_count">;
def StateMicroStep : I32EnumAttrCase<"MicroStep", 19, "micro_step">;
def StateAverageCount : I32EnumAttrCase<"AverageCount", 20, "average_count">;
def StateTotalSteps : I32EnumAttrCase<"TotalSteps", 21, "total_steps">;
def StateLearningRate : I32EnumAttrCase<"LearningRate", 22, "learning_rate">;
def StateRandomSeed : I32EnumAttrCase<"RandomSeed", 23, "random_seed">;
def StateLossSum : I32EnumAttrCase<"LossSum", 24, "loss_sum">;
def StateLossDivisor : I32EnumAttrCase<"LossDivisor", 25, "loss_divisor">;
def StateLossScale : I32EnumAttrCase<"LossScale", 26, "loss_scale">;
def StateLossScaleStreak : I32EnumAttrCase<"LossScaleStreak", 27, "loss_scale_streak">;
// A single number of the optimizer with an individual name.
def StateOptimizerNumber : I32EnumAttrCase<"OptimizerNumber", 28, "optimizer_number">;
// Fault injection (mpc-observe-values): the faulty op, and its result.
def StateFaultPlace : I32EnumAttrCase<"FaultPlace", 29, "fault_place">;
def StateFaultValue : I32EnumAttrCase<"FaultValue", 30, "fault_value">;
// A value that `forward` leaves for `backward`.
def StateResidual : I32EnumAttrCase<"Residual", 31, "residual">;
// What a rank other than the first adds to the seed, so that the ranks draw
// different random numbers.
def StateRankSeed : I32EnumAttrCase<"RankSeed", 32, "rank_seed">;
// The gradients of a rank's batch, which become those of all ranks.
def StateRankGradients : I32EnumAttrCase<"RankGradients", 33, "rank_gradients">;
def Train_StateRole : I32EnumAttr<"StateRole", "what a state is for", [
    StateParameter, StateStatistic, StateConstant, StateOptimizer,
    StateFirstMoment, StateSecondMoment, StateGradientSum, StateAverage,
    StateCompensation, StatePending, StatePendingControl, StateFp8Scales,
    StateFp8History, StateFp8Amax, StateWorkingCopy, StateDerived, StateControl,
    StateStepCount, StateMicroStep, StateAverageCount, StateTotalSteps,
    StateLearningRate, StateRandomSeed, StateLossSum, StateLossDivisor,
    StateLossScale, StateLossScaleStreak, StateOptimizerNumber, StateFaultPlace,
    StateFaultValue, StateResidual, StateRankSeed, StateRankGradients]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_StateRoleAttr : EnumAttr<Train_Dialect, Train_StateRole, "state_role">;

def Train_StateOp : Train_Op<"state", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A tensor that lives across steps";
  let description = [{
    The role tells the purpose of a state; passes, packages and checkpoints find
    it by its role (Program.h). Names have no meaning: a state of the model has
    the name of its initializer, whatever that is.

    `parameter`: trained weights. `statistic`: running mean and variance.
    `constant`: an initializer that is not trained. `working_copy`: the 16-bit copy
    of the parameter or constant `of`. `derived`: computed from the weights by the
    entry with the role `derive`, which runs whenever they have changed. All other
    roles belong to the optimizer or are single numbers; see StateRoles.cpp.

    Without `initial_value` the state starts as zeros (a working copy: as the
    rounded parameters). `slots` name the tensors inside a packed state.

    (C1) `initial_value` has the type of the state.
    (C2) slots lie inside the state and do not overlap.
    (C3) `of` names a state of the same shape; a `working_copy` has an
         `of`, a `parameter`, `statistic`, `constant` or `derived` state has none.
    (C4) a `derived` state has no `initial_value`.
    (C5) control states (single numbers) have rank 0; at most one state has each
         of their roles, except for the roles without a fixed meaning.

    With `own_names` the tensors inside have only the names of their slots, as
    those of weights and statistics always do, without the name of the state as
    a prefix.

    ```mlir
    train.state @fc1.weight parameter : tensor<64x32xf32> = dense<0.0> : tensor<64x32xf32>
    train.state @step_count step_count : tensor<i64>
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    Train_StateRoleAttr:$role,
    TypeAttrOf<Train_Tensor>:$type,
    OptionalAttr<ElementsAttr>:$initial_value,           // state_c1
    OptionalAttr<TypedArrayAttrBase<Train_SlotAttr, "array of slots">>:$slots, // state_c2
    OptionalAttr<FlatSymbolRefAttr>:$of,                  // state_c3
    UnitAttr:$own_names
  );
  let assemblyFormat = [{
    $sym_name custom<StateRole>($role) attr-dict `:` $type (`=` $initial_value^)?
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$sym_name, "StateRole":$role,
      "::mlir::Type":$type, CArg<"::mlir::ElementsAttr", "nullptr">:$value,
      CArg<"::mlir::ArrayAttr", "nullptr">:$slots, CArg<"StateOp", "nullptr">:$of)>];
  let extraClassDeclaration = [{
    /// The kind that follows from its role: which file of a checkpoint it goes to,
    /// whether it is trained.
    StateKind getKind() { return kindOf(getRole()); }
    /// The state `of`; null without one.
    StateOp getOfState();
  }];
}

def Train_ReadOp : Train_Op<"read", [
    Pure, AccessesStates, ComputesNoNumbers,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Read the value of a state at the entry of the function";
  let description = [{
    (C1) the symbol is a state of the result type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state); // read_c1
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "StateOp":$state)>];
  // Null if there is no state of this name, which the verifier rejects.
  let extraClassDeclaration = "StateOp getStateOp();";
}

def Train_WriteOp : Train_Op<"write", [
    AccessesStates, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Set the value of a state for the next step";
  let description = [{
    Takes effect when the function returns. One write per state and function.

    (C1) the symbol is a state of the value's type.
  }];
  let arguments = (ins FlatSymbolRefAttr:$state, Train_Tensor:$value); // write_c1
  let assemblyFormat = "$state `,` $value attr-dict `:` type($value)";
  let builders = [OpBuilder<(ins "StateOp":$state, "::mlir::Value":$value)>];
  let extraClassDeclaration = "StateOp getStateOp();";
}

def Train_PackOp : Train_Op<"pack", [
    Pure, AccessesStates, ComputesNoNumbers]> {
  let summary = "Pack tensors into one, one after the other";
  let description = [{
    Operand `i` occupies the elements from `offsets[i]` on, in row-major order;
    gaps are zero. The plan has the operands computed in place, so that packing
    costs nothing.

    (C1) one offset per operand; operands lie inside the result, in order, and
         do not overlap.
    (C2) operands and result have one element type.
  }];
  let arguments = (ins Variadic<Train_Tensor>:$inputs, DenseI64ArrayAttr:$offsets); // pack_c1, pack_c2
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
}

def Train_UnpackOp : Train_Op<"unpack", [
    Pure, AccessesStates, ComputesNoNumbers, ViewOpInterface,
    DeclareOpInterfaceMethods<PrecisionOpInterface>,
    DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "View one tensor inside a packed one, without copying";
  let description = [{
    (C1) `offset` and the elements of the result lie inside the operand.
    (C2) operand and result have one element type.
  }];
  let arguments = (ins Train_Tensor:$packed, I64Attr:$offset); // unpack_c1, unpack_c2
  let results = (outs Train_Tensor:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = "int64_t getViewOffset() { return getOffset(); }";
}

def Train_ConstantOp : Train_Op<"constant", [
    Pure, ConstantLike, ComputesNoNumbers]> {
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
