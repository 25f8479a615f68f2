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
    What a model and its training step compute, with the meaning ONNX gives it
    and one name per meaning. Shapes are static from the first op on. Every
    float is f32 (or f64 in gradient checks) until the precision stage; from
    there on each value has its own float type, and an op computes in f32
    whatever its operands are stored in.

    A module holds `train.state` symbols (weights, statistics, moments) and
    one `func.func` per entry point, whose role it has as `train.entry`
    (EntryRoles.td). Reads of a state give its value at the entry of the
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
