//===- AmpInterfaces.td - Precision op interface -----------*- tablegen -*-===//
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
      [{Returns the class that decides which operands get a cast.}],
      "::mpc::amp::PrecisionClass", "getPrecisionClass">,
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
      [{Returns true if the op itself bounds its results, whatever it reads:
      norms, softmax, sigmoid. Rounding such a result costs its last bits and
      nothing else; what follows cannot lose digits of an input by it.}],
      "bool", "isBounded", (ins), "", [{ return false; }]>,
    InterfaceMethod<
      [{Returns the reason for the class, one clause for the report.}],
      "::llvm::StringRef", "getPrecisionReason">,
  ];
}

#endif // MPC_COMPILER_DIALECT_AMP_IR_AMPINTERFACES_TD
