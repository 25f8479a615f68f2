//===- ObserveOps.td - Statistics of tensors ---------------*- tablegen -*-===//
//
// For diagnosis and profiles: these ops read values without changing them. They are
// added after the precision stage, so they have no precision class.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_OBSERVEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_OBSERVEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_Observation : StaticShapeTensorOf<[F64]>;

def Train_ObserveOp : Train_Op<"observe", [Pure, KernelMethods]> {
  let summary = "Count the kinds of values in a tensor";
  let description = [{
    Counts the elements that are NaN, infinite and zero, and those of each
    exponent, and returns the position of the first element that is not finite,
    and the largest and the smallest nonzero magnitude. kernels/catalog.def
    (`observe`) describes the row.

    ```mlir
    %row = train.observe %x : (tensor<32x64xbf16>) -> tensor<80xf64>
    ```

    (C1) the result has 80 elements.
  }];
  let arguments = (ins Train_FloatTensor:$input);
  let results = (outs Train_Observation:$row); // observe_c1
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let hasVerifier = 1;
}

def Train_RoundingOp : Train_Op<"rounding", [KernelMethods, ComputesNoNumbers]> {
  let summary = "Estimate how rounding a tensor would change the loss";
  let description = [{
    The sums of `gradient` times the change of `value` by rounding to each of the
    formats that profiles measure, in the order of Formats.def;
    kernels/catalog.def (`rounding`) describes the row.
    The op is not `Pure`, so that it stays if its result is unused: diagnosis
    reads it.

    (C1) both operands have one shape.
    (C2) the result has 8 elements.
  }];
  let arguments = (ins Train_FloatTensor:$value, Train_FloatTensor:$gradient); // rounding_c1
  let results = (outs Train_Observation:$sums); // rounding_c2
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::Value":$gradient)>];
  let hasVerifier = 1;
}

def Train_InjectOp : Train_Op<"inject", [
    Pure, Generated, ComputesNoNumbers, AllTypesMatch<["input", "result"]>]> {
  let summary = "Replace a tensor's value if this is the chosen place";
  let description = [{
    Returns `input`, or `fault` in every element if `place` equals `index`. With
    it, tests choose at run time which op of a program fails.

    ```mlir
    %y = train.inject %x, %place, %fault {index = 7 : i64}
       : (tensor<4xf32>, tensor<i32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Train_FloatTensor:$input, 0DTensorOf<[I32]>:$place,
                   0DTensorOf<[F32]>:$fault, I64Attr:$index);
  let results = (outs Train_FloatTensor:$result);
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_OBSERVEOPS_TD
