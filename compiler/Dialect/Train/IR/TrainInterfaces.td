//===- TrainInterfaces.td - Interfaces of training ops -----*- tablegen -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_TRAININTERFACES_TD
#define MPC_COMPILER_DIALECT_TRAIN_IR_TRAININTERFACES_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    Builds the reverse-mode gradient of one op.
  }];
  let methods = [
    InterfaceMethod<
      [{Emits the gradient of the loss with respect to the operands.

      `resultGrads` has one entry per result, null where no gradient arrives; at
      least one is not null. `needed[i]` tells whether operand `i` needs a
      gradient. On success `operandGrads` (same size as the operands, all null
      on entry) holds a value of the operand's shape for every needed
      floating-point operand. Fails with a diagnostic at the op if no gradient
      exists.}],
      "::mlir::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$resultGrads,
           "::llvm::ArrayRef<bool>":$needed,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGrads)>,
  ];
}

def TrainingFormOpInterface : OpInterface<"TrainingFormOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that ONNX files contain in inference form and that behaves differently
    in training: BatchNormalization and Dropout. `predict` and `evaluate` keep
    the inference form.
  }];
  let methods = [
    InterfaceMethod<
      [{Replaces the op with its training form and adds its state writes before the terminator of
      the function. `index` numbers such ops of the function in order: random numbers depend on
      it.}],
      "::mlir::LogicalResult", "replaceByTrainingForm",
      (ins "::mlir::RewriterBase &":$rewriter, "int64_t":$index)>,
    InterfaceMethod<
      [{Replaces the op with a simpler equivalent in inference, if there is one
      (Dropout is the identity). Does nothing otherwise.}],
      "void", "replaceByInferenceForm", (ins "::mlir::RewriterBase &":$rewriter),
      "", [{}]>,
    InterfaceMethod<
      [{Returns true if the op computes the same in training: a
      BatchNormalization whose statistics do not change.}],
      "bool", "keepsFormInTraining", (ins), "", [{ return false; }]>,
  ];
}

def RowsOpInterface : OpInterface<"RowsOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that may process rows independently. A row is the elements at one
    index of dimension 0.
  }];
  let methods = [
    InterfaceMethod<[{
        The operand of which only row `i` goes into row `i` of the first result;
        null if rows mix.
      }],
      "::mlir::Value", "getRowsOperand">,
  ];
}

def LossReductionOpInterface : OpInterface<"LossReductionOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that may compute the final loss of a batch. Its answers tell how to
    combine the losses of micro-batches so that they equal the loss of one
    batch.
  }];
  let methods = [
    InterfaceMethod<
      "Returns true if the losses of batches add up; otherwise the op takes a mean.",
      "bool", "isSumReduction">,
    InterfaceMethod<
      "Returns true if the divisor of the mean depends on the data.",
      "bool", "isWeighted">,
    InterfaceMethod<[{
        The divisor of the mean, of rank 0 and in the type of the loss, if it
        depends on the data (labels that count, weights of classes). Null if it
        is the same for every batch.
      }],
      "::mlir::Value", "buildDivisor", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<
      "The divisor of the mean if every element counts once.",
      "int64_t", "countTerms">,
  ];
}

def LossOpInterface : OpInterface<"LossOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    A loss compares a prediction with a target, which holds class labels or one
    number for each element.
  }];
  let methods = [
    InterfaceMethod<"How prediction and target are compared.",
      "::mpc::train::LossKind", "getLossKind">,
    InterfaceMethod<"The operand that the gradient flows back to.",
      "::mlir::Value", "getPrediction">,
    InterfaceMethod<"What the prediction is compared with.",
      "::mlir::Value", "getTarget">,
    InterfaceMethod<"How the losses of samples are combined.",
      "::mpc::train::LossReduction", "getReduction">,
    InterfaceMethod<"The weights of classes; null if all count alike.",
      "::mlir::Value", "getClassWeights", (ins), "", [{ return nullptr; }]>,
    InterfaceMethod<"The label that does not count; null if all do.",
      "::mlir::IntegerAttr", "getIgnoredLabel", (ins), "", [{ return nullptr; }]>,
    InterfaceMethod<[{
        Spreads `share` of each label over all classes. Fails if the target does
        not hold labels.
      }],
      "::mlir::LogicalResult", "smoothLabels", (ins "double":$share), "",
      [{ return ::mlir::failure(); }]>,
  ];
}

def ClassesOpInterface : OpInterface<"ClassesOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that reads scores of classes, [N, C, d..], and can skip columns behind
    the classes. A result in the shape of the scores is 0 in these columns. It
    can also work on some rows of scores [N, C] at a time.
  }];
  let methods = [
    InterfaceMethod<"The number of the operand that holds the scores.",
      "unsigned", "getScoresOperand">,
    InterfaceMethod<
      "Returns true if no other operand has an element for each class.",
      "bool", "canPadClasses">,
    InterfaceMethod<"Makes the first `count` columns the classes.", "void",
      "padClasses", (ins "int64_t":$count)>,
    InterfaceMethod<"The number of the operand with a label for each row.",
      "unsigned", "getLabelsOperand", (ins), "",
      [{ return $_op.getScoresOperand() + 1; }]>,
    InterfaceMethod<[{
        For the gradient of a loss: the gradients at the losses of rows, which do
        not depend on the scores. Null for other ops.
      }],
      "::mlir::Value", "buildRowGrads", (ins "::mlir::OpBuilder &":$builder), "",
      [{ return nullptr; }]>,
    InterfaceMethod<[{
        Makes the op compute the losses of rows, or the gradient from
        `row_grads`, those at the losses of its rows.
      }],
      "void", "computeRows", (ins "::mlir::Value":$row_grads), "", [{}]>,
    InterfaceMethod<
      "The result of the op, from the results for all rows after `computeRows`.",
      "::mlir::Value", "reduceRows",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$rows), "",
      [{ return rows; }]>,
  ];
}

def LayoutOpInterface : OpInterface<"LayoutOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op on images, N x C x spatial in ONNX, that can also work with channels
    last (N x spatial x C), which suits vector units.
  }];
  let methods = [
    InterfaceMethod<"Returns true once the op works with channels last.",
      "bool", "isChannelsLast">,
    InterfaceMethod<
      "Switches attributes to channels last; the caller changes operands and types.",
      "void", "setChannelsLast">,
    InterfaceMethod<"Operands that are images.",
      "::llvm::SmallVector<unsigned>", "getImageOperands">,
    InterfaceMethod<"Results that are images.",
      "::llvm::SmallVector<unsigned>", "getImageResults">,
  ];
}

def HeadLayoutOpInterface : OpInterface<"HeadLayoutOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op on the heads of attention, [B, H, T, D], that can also work with heads
    inside the sequence, [B, T, H, D] ("BSHD"), as projections leave them.
  }];
  let methods = [
    InterfaceMethod<[{The catalog's kernel for [B, T, H, D]; empty if it has
      none, or if the op works with this layout already.}],
      "::llvm::StringRef", "getBshdKernelName">,
    InterfaceMethod<
      "Switches attributes to [B, T, H, D]; the caller changes operands and types.",
      "void", "setBshdLayout">,
    InterfaceMethod<"Operands that have heads. They come first.",
      "::llvm::MutableArrayRef<::mlir::OpOperand>", "getOperandsWithHeads">,
    InterfaceMethod<"Results that have heads. They come first.",
      "::mlir::ResultRange", "getResultsWithHeads">,
    InterfaceMethod<[{The catalog's kernel for a query, key and value that are
      heads of one tensor [B, T, heads, D], in this order; empty if it has none.}],
      "::llvm::StringRef", "getPackedKernelName">,
    InterfaceMethod<"The first of the operands query, key and value.",
      "unsigned", "getFirstPackedOperand">,
    InterfaceMethod<[{Builds the op for that kernel. `operands` are those of this
      op with heads inside the sequence, [B, T, H, D], or, if `sequenceFirst`,
      [T, B, H, D], and with one tensor for query, key and value. Their gradients
      are then one result, too.}],
      "::mlir::Operation *", "buildPacked",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "bool":$sequenceFirst)>,
  ];
}

def LinalgLoweringOpInterface : OpInterface<"LinalgLoweringOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that becomes generated code. What may be emitted is defined in
    `Lowering.h`, which has a builder for each form.
  }];
  let methods = [
    InterfaceMethod<
      [{Emits linalg on tensors that computes the results and returns them in
      `results`, with the exact result types of the op. Arithmetic is in f32
      (f64 if an operand is f64) whatever the stored types are.}],
      "::mlir::LogicalResult", "lowerToLinalg",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
  ];
}

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that is one call of a kernel of `kernels/catalog.def`. The kernel
    takes the op's operands and then its results, as dense row-major buffers.
  }];
  let methods = [
    InterfaceMethod<"Name in the catalog.", "::llvm::StringRef", "getKernelName">,
    InterfaceMethod<"The integers the catalog lists for this kernel, in its order.",
      "::llvm::SmallVector<int64_t>", "getKernelAttributes">,
  ];
}

def DecompositionOpInterface : OpInterface<"DecompositionOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op with a catalog kernel that some devices lack. These compute it by other
    ops.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits ops that compute the results, and returns their values in
        `results`. They have the shapes of the op's results.
      }],
      "void", "decompose",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$results)>,
  ];
}

def ErrorPropagationOpInterface : OpInterface<"ErrorPropagationOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op whose results are sums or products of its operands. Estimates of
    rounding errors depend on how they are formed.
  }];
  let methods = [
    InterfaceMethod<"How the elements of a result are computed from those of the operands.",
      "::mpc::ErrorPropagation", "getErrorPropagation", (ins "unsigned":$result)>,
  ];
}

def MoveOpInterface : OpInterface<"MoveOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that computes nothing: each element of a result is one element of an
    operand, as it is or converted to another type.
  }];
  let methods = [
    InterfaceMethod<"Which elements of the operands the results hold, and in which order.",
      "::mpc::train::Move", "getMove">,
  ];
}

def ViewOpInterface : OpInterface<"ViewOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that computes and moves nothing: its one result is the memory of an
    operand, or a contiguous part of it, possibly in another shape.
  }];
  let methods = [
    InterfaceMethod<"The operand whose memory the result shares.",
      "::mlir::Value", "getViewed", (ins), "",
      [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<
      "The element of that operand, in row-major order, where the result begins.",
      "int64_t", "getViewOffset", (ins), "", [{ return 0; }]>,
  ];
}

def SplitOpInterface : OpInterface<"SplitOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op whose results are boxes (contiguous in each dimension) of one operand.
  }];
  let methods = [
    InterfaceMethod<"The operand that is split.", "::mlir::Value",
      "getSource", (ins), "", [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<"Where the box of a result begins in each dimension.",
      "::llvm::SmallVector<int64_t>", "getPartOffsets",
      (ins "unsigned":$result)>,
  ];
}

def JoinOpInterface : OpInterface<"JoinOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op whose one result is the concatenation of all its operands.
  }];
  let methods = [
    InterfaceMethod<"The dimension along which the operands follow each other.",
      "int64_t", "getJoinAxis">,
  ];
}

def ContractionOpInterface : OpInterface<"ContractionOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    A matrix product that matrix units can compute in FP8. Operand 0 is the left
    factor, operand 1 the right one.
  }];
  let methods = [
    InterfaceMethod<
      "The linear layer that the product belongs to, forward or backward, if any.",
      "::std::optional<::llvm::StringRef>", "getLayer">,
    InterfaceMethod<
      "The extents of the matrix product; all zero for a batch of several products.",
      "::mpc::train::ProductExtents", "getExtents">,
    InterfaceMethod<
      "Returns true if the elements that are summed up are adjacent in memory in this factor.",
      "bool", "isContiguousAlongSum", (ins "unsigned":$factor)>,
    InterfaceMethod<
      "Transposes factors until `isContiguousAlongSum` holds for both, as FP8 needs.",
      "void", "makeContiguousAlongSum", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<
      "The catalog's kernel for the product of scaled factors.",
      "::llvm::StringRef", "getScaledKernelName">,
    InterfaceMethod<[{
        Builds the product of the same factors times two numbers, the reciprocals
        of their scales, rounded once at the end.
      }],
      "::mlir::Value", "buildScaled",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$lhs_factor,
           "::mlir::Value":$rhs_factor)>,
    InterfaceMethod<
      "The catalog's kernel for the product with an epilogue.",
      "::llvm::StringRef", "getEpilogueKernelName",
      (ins "::mpc::train::Epilogue":$epilogue)>,
    InterfaceMethod<[{
        Builds the product with an epilogue. The operand of Sum has the shape of
        the product and the type of sums. For the others, factors are matrices of
        the type of the product; the operand of Bias and Gelu is the bias, and the
        results of Gelu are GELU and its argument; the operand of GeluGrad is the
        argument.
      }],
      "::mlir::ResultRange", "buildWithEpilogue",
      (ins "::mlir::OpBuilder &":$builder, "::mpc::train::Epilogue":$epilogue,
           "::mlir::Value":$operand)>,
  ];
}

def EpilogueOpInterface : OpInterface<"EpilogueOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that a matrix product may compute, because it needs each element of the
    product once. Operand 0 is the product; either operand of a sum may be.
  }];
  let methods = [
    InterfaceMethod<"What it computes from the product; none if no product can.",
      "::std::optional<::mpc::train::Epilogue>", "getEpilogue">,
  ];
}

def AffineOpInterface : OpInterface<"AffineOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op whose result elements are elements of one operand times a factor plus
    a term; factor and term come from the other operands.
  }];
  let methods = [
    InterfaceMethod<"Returns true if that holds for operand `operand`.",
      "bool", "isAffineIn", (ins "unsigned":$operand)>,
    InterfaceMethod<"Returns true if, in addition, the term is 0.",
      "bool", "isLinearIn", (ins "unsigned":$operand)>,
  ];
}

def ReductionOpInterface : OpInterface<"ReductionOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that combines the elements of an operand along dimensions.
  }];
  let methods = [
    InterfaceMethod<"The operand that is summed; null if it is not a sum.",
      "::mlir::Value", "getSummands">,
    InterfaceMethod<"The dimensions of operand 0 that are reduced, sorted.",
      "::llvm::ArrayRef<int64_t>", "getAxes">,
  ];
}

def IndexOpInterface : OpInterface<"IndexOpInterface"> {
  let cppNamespace = "::mpc::train";
  let description = [{
    An op that takes integers as indices or as labels.
  }];
  let methods = [
    InterfaceMethod<[{
        The integers that operand `operand` may hold; without limits if it is
        only compared. None if it holds no indices or labels.
      }],
      "::std::optional<::mpc::train::IndexRange>", "getIndexRange",
      (ins "unsigned":$operand)>,
    InterfaceMethod<
      "The operand whose rows the indices select; null if there is none.",
      "::mlir::Value", "getIndexedTable", (ins), "", [{ return nullptr; }]>,
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::mpc::train";
  let methods = [
    InterfaceMethod<
      "Floating-point operations of one execution; a multiply-add counts two.",
      "int64_t", "getFlops">,
    InterfaceMethod<[{
        Returns true if the op computes nothing: its one result has the numbers
        of its first operand in their order, at most in another shape or rounded
        to another type.
      }],
      "bool", "isIdentity", (ins), "", [{ return false; }]>,
    InterfaceMethod<
      "Number of elements of operand `operand` that one execution reads: all, unless the op selects some.",
      "int64_t", "countReads", (ins "unsigned":$operand), "", [{
        return ::llvm::cast<::mlir::ShapedType>(
                   $_op->getOperand(operand).getType())
            .getNumElements();
      }]>,
  ];
}

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_TRAININTERFACES_TD
