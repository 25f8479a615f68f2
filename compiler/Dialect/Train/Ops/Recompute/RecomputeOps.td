//===- RecomputeOps.td - Values that are made twice --------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_RECOMPUTEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_RECOMPUTEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_RematBarrierOp : Train_Op<"remat_barrier", [
    Pure, ViewOpInterface, AllTypesMatch<["value", "result"]>]> {
  let summary = "Rematerialisation barrier: a forward value for recomputed ops";
  let description = [{
    The result is `value`, in its memory, but another value to every pass: what
    is computed from it is not what was computed from `value`, so nothing
    merges the two, and cannot run before `after` is there.
  }];
  let arguments = (ins Train_Tensor:$value, Train_Tensor:$after);
  let results = (outs Train_Tensor:$result);
  let assemblyFormat = [{
    $value `after` $after attr-dict `:` type($value) `after` type($after)
  }];
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_RECOMPUTEOPS_TD
