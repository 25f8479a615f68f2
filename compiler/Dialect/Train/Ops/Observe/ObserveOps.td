//===- ObserveOps.td - What a tensor holds, in numbers -----*- tablegen -*-===//
//
// For diagnosis and profiles: these ops look at values that others compute and
// change none. They come after precisions are settled, so they have no class.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_OBSERVEOPS_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_OBSERVEOPS_TD

include "compiler/Dialect/Train/IR/TrainBase.td"

def Train_Observation : StaticShapeTensorOf<[F64]>;

def Train_ObserveOp : Train_Op<"observe", [Pure, Kernel]> {
  let summary = "Count the kinds of values in a tensor";
  let description = [{
    How many elements are NaN, infinite and zero, where the first that is not
    finite stands, the largest and the smallest size but 0, and how many have each
    exponent: what `observe` of kernels/catalog.def says.

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

def Train_RoundingOp : Train_Op<"rounding", [Kernel, ComputesNoNumbers]> {
  let summary = "Estimate how rounding a tensor would change the loss";
  let description = [{
    The sum of `gradient` times what rounding `value` to bf16, f16 and e4m3 would
    change, in this order: what `rounding` of kernels/catalog.def says. Nobody
    need use the result: a program that has the op is made to be looked at.

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
    `input`, but `fault` in every element if `place` is `index`. Tests choose at
    run time which op of a program goes wrong.

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
