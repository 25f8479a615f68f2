//===- Decision.td - Decisions about the types of ops ------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_AMP_IR_DECISION_TD
#define MPC_COMPILER_DIALECT_AMP_IR_DECISION_TD

include "compiler/Dialect/Amp/IR/AmpDialect.td"
include "mlir/IR/AttrTypeBase.td"

def Amp_DecisionAttr : AttrDef<Amp_Dialect, "Decision"> {
  let mnemonic = "decision";
  let summary = "The rule that decided the types of an op";
  let description = [{
    `rule` is the id of a row of `compiler/Support/Precision/Rules.def`, `arguments` are
    those that the row lists: strings, integers, floats and types. The precision report forms
    a sentence from both (`compiler/Report/Model/Reasons.def`).

    ```mlir
    #amp.decision<"cut.reads-f32">
    #amp.decision<"cut.moves-more", "16 bit", 24>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$rule,
                        OptionalArrayRefParameter<"::mlir::Attribute">:$arguments);
  let assemblyFormat = "`<` $rule (`,` $arguments^)? `>`";
  let genVerifyDecl = 1;
}

#endif // MPC_COMPILER_DIALECT_AMP_IR_DECISION_TD
