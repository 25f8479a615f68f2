//===- AmpInterfaces.td - Formats and ranges ---------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_AMPINTERFACES_TD
#define MPC_COMPILER_DIALECT_AMP_IR_AMPINTERFACES_TD

include "mlir/IR/OpBase.td"

def PrecisionOpInterface : OpInterface<"PrecisionOpInterface"> {
  let cppNamespace = "::mpc::amp";
  let description = [{
    States how an op behaves when its inputs become narrower than f32.
  }];
  let methods = [
    InterfaceMethod<
      [{Returns the class that decides which operands get a cast. `low` is the
      type that they are cast to: an op that is sensitive because of the range
      of f16 may not be in a bf16 program. Null stands for any type; the class
      is then the strictest.}],
      "::mpc::amp::PrecisionClass", "getPrecisionClass",
      (ins "::mlir::FloatType":$low)>,
    InterfaceMethod<
      [{Returns true if this operand stays as it is in every precision: norm
      parameters and statistics, labels, ratios, scales, optimizer states.}],
      "bool", "isOperandPinned", (ins "unsigned":$index), "",
      [{ return false; }]>,
    InterfaceMethod<
      [{Returns true if this result is f32 in every precision: statistics and
      gradients of parameters.}],
      "bool", "isResultPinned", (ins "unsigned":$index), "",
      [{ return false; }]>,
    InterfaceMethod<
      [{Returns true if this operand determines where elements are read or
      written: an index, or a number that becomes one. Rounding such a number to
      16 bit would select another element.}],
      "bool", "isIndexLike", (ins "unsigned":$index), "", [{ return false; }]>,
    InterfaceMethod<
      [{Returns true if the op itself bounds its results, whatever it reads:
      norms, softmax, sigmoid. Rounding such a result costs only its last
      bits.}],
      "bool", "isBounded", (ins), "", [{ return false; }]>,
    InterfaceMethod<
      [{Returns the reason for the class, one clause for the report.}],
      "::llvm::StringRef", "getPrecisionReason", (ins "::mlir::FloatType":$low)>,
  ];
}

def RangeOpInterface : OpInterface<"RangeOpInterface"> {
  let cppNamespace = "::mpc::amp";
  let description = [{
    Tells what the elements of results can be. Nothing is known about the results
    of ops without this interface.
  }];
  let methods = [
    InterfaceMethod<
      [{Sets `results`, which are unknown on entry, to what follows from
      `operands`. There is one range for each operand and each result.}],
      "void", "inferRanges",
      (ins "::llvm::ArrayRef<::mpc::amp::NumberRange>":$operands,
           "::llvm::MutableArrayRef<::mpc::amp::NumberRange>":$results)>,
  ];
}

// Marks ops that compute no new numbers: their results are elements of operands or
// states, or serve diagnosis only.
def ComputesNoNumbers : NativeOpTrait<"ComputesNoNumbers"> {
  let cppNamespace = "::mpc::amp";
}

#endif // MPC_COMPILER_DIALECT_AMP_IR_AMPINTERFACES_TD
