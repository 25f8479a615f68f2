//===- ExecDialect.td - Compiled program dialect -----------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_EXEC_IR_EXECDIALECT_TD
#define MPC_COMPILER_DIALECT_EXEC_IR_EXECDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::mpc::exec";
  let summary = "The compiled program: instructions on buffers in two memory spaces";
  let description = [{
    One op per table of the package schema (runtime/src/program/program.fbs).
    There are no SSA values any more: the operands of an instruction are buffers
    in the arena, which a call of an entry point owns, or in states, which live
    across calls. Instructions run in order.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

#endif // MPC_COMPILER_DIALECT_EXEC_IR_EXECDIALECT_TD
