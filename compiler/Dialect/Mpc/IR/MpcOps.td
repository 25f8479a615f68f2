//===- MpcOps.td - Attributes of programs ------------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_MPC_IR_MPCOPS_TD
#define MPC_COMPILER_DIALECT_MPC_IR_MPCOPS_TD

include "mlir/IR/OpBase.td"

def Mpc_Dialect : Dialect {
  let name = "mpc";
  let cppNamespace = "::mpc";
  let summary = "Attributes of programs, whatever dialect they are written in";
  let description = [{
    No ops and no types: what passes write down about a module, its functions,
    their inputs and outputs, and ops. `compiler/Attributes/Attributes.def` has a row
    for each attribute; one without a row, in another place or of another type is
    an error.
  }];
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
}

#endif // MPC_COMPILER_DIALECT_MPC_IR_MPCOPS_TD
