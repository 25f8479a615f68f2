//===- TrainBase.td - Base of all training ops -------------*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_TRAINBASE_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_TRAINBASE_TD

include "compiler/Dialect/Amp/IR/AmpInterfaces.td"
include "compiler/Dialect/Amp/IR/Fp8Type.td"
include "compiler/Dialect/Train/IR/TrainDialect.td"
include "compiler/Dialect/Train/IR/TrainInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"

def Train_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def Train_FloatTensor : StaticShapeTensorOf<[Train_Float]>;
def Train_FactorTensor : StaticShapeTensorOf<[Train_Float, Amp_Fp8]>;
def Train_Fp8Tensor : StaticShapeTensorOf<[Amp_Fp8]>;
def Train_IntTensor : StaticShapeTensorOf<[I32, I64]>;
def Train_BoolTensor : StaticShapeTensorOf<[I1]>;
def Train_ByteTensor : StaticShapeTensorOf<[I8]>;
def Train_Tensor : StaticShapeTensorOf<[Train_Float, Amp_Fp8, I1, I8, I32, I64]>;

// All ops print as `train.name operands {attributes} : (types) -> types`: the
// precision stage gives results element types that nothing else determines.
class Train_Op<string mnemonic, list<Trait> traits = []>
    : Op<Train_Dialect, mnemonic, traits> {
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

// An op whose result shapes follow from operands and attributes. Its builders
// need no result types; inference gives the element type of the main operand,
// and the verifier compares shapes only.
class Train_InferredOp<string mnemonic, list<Trait> traits = []>
    : Train_Op<mnemonic, !listconcat(traits, [
        Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
        DeclareOpInterfaceMethods<PrecisionOpInterface>,
        DeclareOpInterfaceMethods<CostOpInterface>])> {
  code compatible = [{
    /// Element types may differ from the inferred ones, shapes may not.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                        ::mlir::TypeRange actual) {
      return ::mpc::train::haveSameShapes(inferred, actual);
    }
  }];
  // For an op some of whose operands or results stay in f32:
  // `let extraClassDeclaration = compatible # pins`.
  code pins = [{
    bool isOperandPinned(unsigned index);
    bool isResultPinned(unsigned index);
  }];
  // For an op that bounds its results whatever it reads.
  code bounded = "bool isBounded() { return true; }";
  let extraClassDeclaration = compatible;
}

def Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;
def Generated : DeclareOpInterfaceMethods<LinalgLoweringOpInterface>;
def RangeMethods : DeclareOpInterfaceMethods<RangeOpInterface>;
def ErrorPropagationMethods : DeclareOpInterfaceMethods<ErrorPropagationOpInterface>;
def Affine : DeclareOpInterfaceMethods<AffineOpInterface>;
def Indexes : DeclareOpInterfaceMethods<IndexOpInterface>;
def IndexesTable : DeclareOpInterfaceMethods<IndexOpInterface, ["getIndexedTable"]>;
def ClassesMethods : DeclareOpInterfaceMethods<ClassesOpInterface>;
def LossRowsMethods : DeclareOpInterfaceMethods<ClassesOpInterface, ["computeRows", "reduceRows"]>;
def LossGradRowsMethods : DeclareOpInterfaceMethods<ClassesOpInterface, ["computeRows", "buildRowGrads"]>;
def MoveMethods : DeclareOpInterfaceMethods<MoveOpInterface>;
def LossReductionMethods : DeclareOpInterfaceMethods<LossReductionOpInterface>;
def SplitMethods : DeclareOpInterfaceMethods<SplitOpInterface>;
def JoinMethods : DeclareOpInterfaceMethods<JoinOpInterface>;
def ReductionMethods : DeclareOpInterfaceMethods<ReductionOpInterface>;
def KernelMethods : DeclareOpInterfaceMethods<KernelOpInterface>;
def HeadLayoutMethods : DeclareOpInterfaceMethods<HeadLayoutOpInterface>;
def Decomposes : DeclareOpInterfaceMethods<DecompositionOpInterface>;

// Marks ops that normalize their first operand; the others are scale and offset, and
// statistics.
def Normalizes : NativeOpTrait<"Normalizes"> {
  let cppNamespace = "::mpc::train";
}

// Marks ops that compute each result element from the operand elements at the
// same (broadcast) position. Layout changes may move across them.
def ElementByElement : NativeOpTrait<"ElementByElement"> {
  let cppNamespace = "::mpc::train";
}

// Marks ops whose results are indices that are in range wherever they are used.
def MakesIndices : NativeOpTrait<"MakesIndices"> {
  let cppNamespace = "::mpc::train";
}

// Marks ops that move tensors into states and packs or out of them, unchanged.
def AccessesStates : NativeOpTrait<"AccessesStates"> {
  let cppNamespace = "::mpc::train";
}

// Marks ops that stop gradients: their operands get no gradient through them, and a
// parameter is not trained if all its paths lead through such ops.
def StopsGradient : NativeOpTrait<"StopsGradient"> {
  let cppNamespace = "::mpc::train";
}

// The order of a gradient. Each differentiation makes the formula longer.
def Train_Order : DefaultValuedAttr<
    ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<4>]>, "1">;

def ReductionMean : I32EnumAttrCase<"Mean", 0, "mean">;
def ReductionSum : I32EnumAttrCase<"Sum", 1, "sum">;
def ReductionNone : I32EnumAttrCase<"None", 2, "none">;
def Train_Reduction : I32EnumAttr<"LossReduction", "how a loss sums over samples",
    [ReductionMean, ReductionSum, ReductionNone]> {
  let cppNamespace = "::mpc::train";
  let genSpecializedAttr = 0;
}
def Train_ReductionAttr : EnumAttr<Train_Dialect, Train_Reduction, "reduction">;

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_TRAINBASE_TD
