//===- Format.td - Number formats in the IR ----------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_FORMAT_TD
#define MPC_COMPILER_DIALECT_AMP_IR_FORMAT_TD

include "compiler/Dialect/Amp/IR/AmpDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Amp_FormatParameter : AttrParameter<"::mpc::Format", "row of Formats.def"> {
  let parser = "::mpc::amp::parseFormat($_parser)";
  let printer = "$_printer << ::mpc::factsOf($_self).name";
}

def Amp_FormatAttr : AttrDef<Amp_Dialect, "Format"> {
  let mnemonic = "format";
  let summary = "A format of numbers";
  let description = [{
    The name of a row of `compiler/Support/Precision/Formats.def`. A format carries
    more information than an element type: tf32 is stored as f32.

    ```mlir
    #amp.format<tf32>
    ```
  }];
  let parameters = (ins Amp_FormatParameter:$value);
  let assemblyFormat = "`<` $value `>`";
}

#endif // MPC_COMPILER_DIALECT_AMP_IR_FORMAT_TD
