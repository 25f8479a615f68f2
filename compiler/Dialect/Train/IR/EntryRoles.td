//===- EntryRoles.td - What a function is called for -------*- tablegen -*-===//
//
// An entry point has its role as `train.entry`; its symbol means nothing. The values
// are those of packages (program.fbs).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_ENTRYROLES_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_ENTRYROLES_TD

include "compiler/Dialect/Train/IR/TrainDialect.td"
include "mlir/IR/EnumAttr.td"

// Outputs of the model from its inputs, weights as they are.
def EntryPredict : I32EnumAttrCase<"Predict", 1, "predict">;
// The loss of a batch, weights as they are.
def EntryEvaluate : I32EnumAttrCase<"Evaluate", 2, "evaluate">;
// The loss and the gradients of a batch: what the optimizer makes a step of.
def EntryTrain : I32EnumAttrCase<"Train", 3, "train">;
// A batch and its update.
def EntryStep : I32EnumAttrCase<"Step", 4, "step">;
// A micro-batch, whose gradients are summed up; and the update from the sums.
def EntryAccumulate : I32EnumAttrCase<"Accumulate", 5, "accumulate">;
def EntryApply : I32EnumAttrCase<"Apply", 6, "apply">;
// Initial values of states that a model draws at random.
def EntryInitialize : I32EnumAttrCase<"Initialize", 7, "initialize">;
// Derived states, from the weights.
def EntryDerive : I32EnumAttrCase<"Derive", 8, "derive">;
// A step that changes nothing and tells of every value, or shows it.
def EntryObserve : I32EnumAttrCase<"Observe", 9, "observe">;
def EntryProbe : I32EnumAttrCase<"Probe", 10, "probe">;
def Train_EntryRole : I32EnumAttr<"EntryRole", "what an entry point is called for", [
    EntryPredict, EntryEvaluate, EntryTrain, EntryStep, EntryAccumulate, EntryApply,
    EntryInitialize, EntryDerive, EntryObserve, EntryProbe]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_EntryRoleAttr : EnumAttr<Train_Dialect, Train_EntryRole, "entry"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_ENTRYROLES_TD
