//===- ExecOps.td - Compiled program ops -------------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_EXEC_IR_EXECOPS_TD
#define MPC_COMPILER_DIALECT_EXEC_IR_EXECOPS_TD

include "compiler/Dialect/Exec/IR/ExecDialect.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"

def SpaceArena : I32EnumAttrCase<"Arena", 0, "arena">;
def SpaceState : I32EnumAttrCase<"State", 1, "state">;
def Exec_Space : I32EnumAttr<"Space", "which memory a buffer lies in",
    [SpaceArena, SpaceState]> {
  let cppNamespace = "::mpc::exec";
}

def Exec_BufferAttr : AttrDef<Exec_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A dense row-major region of one memory; `offset` counts bytes";
  let parameters = (ins EnumParameter<Exec_Space>:$space, "int64_t":$offset,
                    "::mlir::RankedTensorType":$type);
  let assemblyFormat = "`<` $space `+` $offset `:` $type `>`";
}

def Exec_ValueAttr : AttrDef<Exec_Dialect, "Value"> {
  let mnemonic = "value";
  let summary = "Contents of a buffer: tensor `number`, from its byte `offset` on";
  let parameters = (ins "int64_t":$number, "int64_t":$offset);
  let assemblyFormat = "`<` $number `+` $offset `>`";
}

def Exec_Values : TypedArrayAttrBase<Exec_ValueAttr, "array of values">;

def Exec_PartAttr : AttrDef<Exec_Dialect, "Part"> {
  let mnemonic = "part";
  let summary = "`size` bytes of the tensor `whole`, from `at` on, are `value`";
  let parameters = (ins "int64_t":$whole, "int64_t":$at, "int64_t":$size,
                    "ValueAttr":$value);
  let assemblyFormat = "`<` $whole `+` $at `:` $size `=` $value `>`";
}

def Exec_Parts : TypedArrayAttrBase<Exec_PartAttr, "array of parts">;

def Exec_DataflowAttr : AttrDef<Exec_Dialect, "Dataflow"> {
  let mnemonic = "dataflow";
  let summary = "What an entry computes, apart from where";
  let description = [{
    Together with the `values` of the instructions, it describes what memory
    must hold, so that the plan can be proven. Values number the tensors of the
    function that the entry was lowered from, independently of memory. `inputs`
    and `outputs` are those of the entry; `reads` maps states to their values at
    the start of the entry, `writes` to those at its end; `parts` lists the
    parts of packed tensors.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$inputs, "::mlir::ArrayAttr":$outputs,
                    "::mlir::DictionaryAttr":$reads, "::mlir::DictionaryAttr":$writes,
                    "::mlir::ArrayAttr":$parts);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Exec_Buffers : TypedArrayAttrBase<Exec_BufferAttr, "array of buffers">;

def Exec_EntryOp : Exec_Op<"entry", [NoTerminator, SingleBlock, IsolatedFromAbove, Symbol]> {
  let summary = "An entry point of the program";
  let description = [{
    `inputs` and `outputs` are dictionaries with `name`, `buffer` and, where
    they apply, `batch_dim`, `range` and `ignored`. `dataflow` and the `values`
    of the instructions are for the plan's proof and are not part of a package.

    ```mlir
    exec.entry @predict inputs = [{name = "x", buffer = #exec.buffer<arena + 0 : tensor<4xf32>>} ] outputs = [] {
      exec.call "zero" [] (#exec.buffer<arena + 64 : tensor<4xf32>>)
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictArrayAttr:$inputs, DictArrayAttr:$outputs,
                   OptionalAttr<Exec_DataflowAttr>:$dataflow);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `inputs` `=` $inputs `outputs` `=` $outputs attr-dict-with-keyword $body
  }];
}

def Exec_LaunchOp : Exec_Op<"launch"> {
  let summary = "Run a generated kernel over its items";
  let description = [{
    There are `items` independent pieces of work; `grain` is the number of items
    that are worth a thread. On a GPU an item is a block of `threads` threads;
    elsewhere `threads` is 0. A block can use up to `shared` bytes of dynamic
    shared memory, and also works with less.

    (C1) `items` and `grain` are positive.
    (C2) `threads` is at most 1024.
    (C3) `shared` is at most 227 KiB.
    (C4) The last `results` operands are written.
    (C5) `item_elements`, if given, has a number n for each operand: item i
    accesses only the elements [i n, (i + 1) n) of it, and the items together
    all of them; if n is 0, all items may read all of it, and none writes it.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                   ConfinedAttr<I64Attr, [IntPositive]>:$items, // launch_c1
                   ConfinedAttr<I64Attr, [IntPositive]>:$grain, // launch_c1
                   DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<1024>]>, "0">:$threads, // launch_c2
                   DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<232448>]>, "0">:$shared, // launch_c3
                   Exec_Buffers:$operands,
                   DefaultValuedAttr<ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$results,
                   OptionalAttr<DenseI64ArrayAttr>:$item_elements,
                   OptionalAttr<Exec_Values>:$values);
  let assemblyFormat = "$kernel `items` $items `grain` $grain (`threads` $threads^)? (`shared` $shared^)? $operands attr-dict";
  let hasVerifier = 1;
}

def Exec_CallOp : Exec_Op<"call"> {
  let summary = "Run a kernel of kernels/catalog.def";
  let description = [{
    (C1) the catalog has a kernel of this name.
  }];
  let arguments = (ins StrAttr:$kernel, DenseI64ArrayAttr:$parameters, Exec_Buffers:$operands,
                   OptionalAttr<Exec_Values>:$values);
  let assemblyFormat = "$kernel $parameters $operands attr-dict";
  let hasVerifier = 1;
}

#endif // MPC_COMPILER_DIALECT_EXEC_IR_EXECOPS_TD
