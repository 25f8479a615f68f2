//===- TrainDialect.td - Training graph dialect ------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_TRAINDIALECT_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_TRAINDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Train_Dialect : Dialect {
  let name = "train";
  let cppNamespace = "::mpc::train";
  let summary = "Training graphs on tensors: forward, gradient, loss, update, state";
  let description = [{
    Ops of models and training steps, with the semantics of ONNX but only one op
    per meaning. Shapes are always static. Every float is f32 (or f64 in
    gradient checks) until the precision stage; after it each value has its own
    float type, and an op computes in f32 whatever type its operands are stored
    in.

    A module holds `train.state` symbols (weights, statistics, moments) and one
    `func.func` per entry point, with its role as the attribute `train.entry`
    (EntryRoles.td). A read of a state returns its value at the start of the
    function; writes take effect when the function returns.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mpc::MpcDialect"];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
}

class Train_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Train_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// A named tensor inside a packed state: `offset` and the product of `shape`
// count elements of the state.
def Train_SlotAttr : Train_Attr<"Slot", "slot"> {
  let parameters = (ins
    StringRefParameter<"Name of the tensor, as in the ONNX file">:$name,
    "int64_t":$offset,
    "::mlir::DenseI64ArrayAttr":$shape
  );
  let assemblyFormat = "`<` $name `,` $offset `,` $shape `>`";
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_TRAINDIALECT_TD
