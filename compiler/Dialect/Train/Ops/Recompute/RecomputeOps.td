//===- RecomputeOps.td - Values that are computed twice ----*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_RECOMPUTEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_RECOMPUTEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_RematBarrierOp : Train_Op<"remat_barrier", [
    Pure, ViewOpInterface, AllTypesMatch<["value", "result"]>]> {
  let summary = "Rematerialisation barrier: a forward value for recomputed ops";
  let description = [{
    The result shares the memory of `value`, but is a different SSA value.
    Passes therefore do not merge ops that use it with ops that use `value`, and
    its users cannot run before `after` is computed.
  }];
  let arguments = (ins Train_Tensor:$value, Train_Tensor:$after);
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = [{
    $value `after` $after attr-dict `:` type($value) `after` type($after)
  }];
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_RECOMPUTEOPS_TD
