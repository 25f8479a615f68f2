//===- MpcOps.td - Attributes of programs ------------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_MPC_IR_MPCOPS_TD
#define MPC_COMPILER_DIALECT_MPC_IR_MPCOPS_TD

include "mlir/IR/OpBase.td"

def Mpc_Dialect : Dialect {
  let name = "mpc";
  let cppNamespace = "::mpc";
  let summary = "Attributes of programs, whatever dialect they are written in";
  let description = [{
    The dialect has no ops and no types, only the attributes with which passes record
    facts about a module, its functions, their inputs and outputs, and ops.
    `compiler/Attributes/Attributes.def` has a row for each attribute; the verifier
    rejects an attribute without a row, in another place or of another type.
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif // MPC_COMPILER_DIALECT_MPC_IR_MPCOPS_TD
