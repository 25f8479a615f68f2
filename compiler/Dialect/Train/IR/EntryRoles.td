//===- EntryRoles.td - Roles of entry points ---------------*- tablegen -*-===//
//
// An entry point has its role as the attribute `train.entry`; its symbol has no
// meaning. The values are those of packages (program.fbs).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_ENTRYROLES_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_ENTRYROLES_TD

include "compiler/Dialect/Train/IR/TrainDialect.td"
include "mlir/IR/EnumAttr.td"

// Computes the outputs of the model; changes no weights.
def EntryPredict : I32EnumAttrCase<"Predict", 1, "predict">;
// Computes the loss of a batch; changes no weights.
def EntryEvaluate : I32EnumAttrCase<"Evaluate", 2, "evaluate">;
// Computes the loss and the gradients of a batch; the optimizer pass turns it into a
// step.
def EntryTrain : I32EnumAttrCase<"Train", 3, "train">;
// A batch and its update.
def EntryStep : I32EnumAttrCase<"Step", 4, "step">;
// Sums up the gradients of a micro-batch; and updates the weights from the sums.
def EntryAccumulate : I32EnumAttrCase<"Accumulate", 5, "accumulate">;
def EntryApply : I32EnumAttrCase<"Apply", 6, "apply">;
// Draws the random initial values of states.
def EntryInitialize : I32EnumAttrCase<"Initialize", 7, "initialize">;
// Computes the derived states from the weights.
def EntryDerive : I32EnumAttrCase<"Derive", 8, "derive">;
// Computes a step without changing states and returns statistics of every value, or
// the values.
def EntryObserve : I32EnumAttrCase<"Observe", 9, "observe">;
def EntryProbe : I32EnumAttrCase<"Probe", 10, "probe">;
// The two halves of a training batch if the caller computes the loss: the outputs of
// the model in training form; and the gradients, from those of the outputs.
def EntryForward : I32EnumAttrCase<"Forward", 11, "forward">;
def EntryBackward : I32EnumAttrCase<"Backward", 12, "backward">;
def Train_EntryRole : I32EnumAttr<"EntryRole", "what an entry point is called for", [
    EntryPredict, EntryEvaluate, EntryTrain, EntryStep, EntryAccumulate, EntryApply,
    EntryInitialize, EntryDerive, EntryObserve, EntryProbe,
    EntryForward, EntryBackward]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_EntryRoleAttr : EnumAttr<Train_Dialect, Train_EntryRole, "entry"> {
  let assemblyFormat = "`<` $value `>`";
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_ENTRYROLES_TD
