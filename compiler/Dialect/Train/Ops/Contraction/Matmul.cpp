//===- Matmul.cpp - Matrix product ----------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// The extents of one matrix of an operand, after transposition.
static std::pair<int64_t, int64_t> matrixExtents(Type type, bool transposed) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  int64_t rows = shape[shape.size() - 2], columns = shape.back();
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

static ArrayRef<int64_t> batchShape(Value operand) {
  return cast<RankedTensorType>(operand.getType()).getShape().drop_back(2);
}

//===----------------------------------------------------------------------===//
// Class, cost, kernel
//===----------------------------------------------------------------------===//

MPC_OP_FACTS(MatmulOp, Low,
             2 * countElements(getResult()) *
                 matrixExtents(getLhs().getType(), getTransposeLhs()).second,
             getWeightGradient()
                 ? "16-bit operands, f32 sums, result stored in f32"
                 : "16-bit operands, f32 sums")

/// The floating-point operations of the product that `op` begins with.
template <typename OpTy> static int64_t flopsOf(OpTy op) {
  return 2 * countElements(op.getResult()) *
         matrixExtents(op.getLhs().getType(), op.getTransposeLhs()).second;
}

MPC_OP_FACTS(MatmulAddOp, Low, flopsOf(*this),
             "16-bit operands, f32 sums, added in f32")
MPC_OP_FACTS(MatmulBiasOp, Low, flopsOf(*this),
             "16-bit operands, f32 sums, bias added in f32")
MPC_OP_FACTS(MatmulGeluOp, Low, flopsOf(*this),
             "16-bit operands, f32 sums, GELU in f32")
MPC_OP_FACTS(MatmulGeluGradOp, Low, flopsOf(*this),
             "16-bit operands, f32 sums, derivative in f32")

MPC_OP_FACTS(ScaledMatmulOp, Low,
             2 * countElements(getResult()) *
                 matrixExtents(getLhs().getType(), getTransposeLhs()).second,
             "8-bit operands, f32 sums")

ErrorPropagation MatmulOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Contracted;
}

StringRef MatmulOp::getKernelName() { return "matmul"; }

static StringRef kernelOf(Epilogue epilogue) {
  switch (epilogue) {
  case Epilogue::Sum:
    return "matmul_add";
  case Epilogue::Bias:
    return "matmul_bias";
  case Epilogue::Gelu:
    return "matmul_gelu";
  case Epilogue::GeluGrad:
    return "matmul_gelu_grad";
  }
  llvm_unreachable("an epilogue without a kernel");
}

StringRef MatmulAddOp::getKernelName() { return kernelOf(Epilogue::Sum); }
StringRef MatmulBiasOp::getKernelName() { return kernelOf(Epilogue::Bias); }
StringRef MatmulGeluOp::getKernelName() { return kernelOf(Epilogue::Gelu); }
StringRef MatmulGeluGradOp::getKernelName() {
  return kernelOf(Epilogue::GeluGrad);
}

static constexpr StringLiteral kScaledMatmulKernel = "scaled_matmul";

StringRef ScaledMatmulOp::getKernelName() { return kScaledMatmulKernel; }

/// Returns lhs if each row of the result depends only on the same row of lhs:
/// if rhs is a single matrix, and dimension 0 of lhs is not summed over.
template <typename OpTy> static Value rowsOperandOf(OpTy op) {
  bool mixes = op.getLhs().getType().getRank() == 2 && op.getTransposeLhs();
  return op.getRhs().getType().getRank() == 2 && !mixes ? op.getLhs() : Value();
}

Value MatmulOp::getRowsOperand() { return rowsOperandOf(*this); }

Value ScaledMatmulOp::getRowsOperand() { return rowsOperandOf(*this); }

SmallVector<int64_t> MatmulOp::getKernelAttributes() {
  return {getTransposeLhs(), getTransposeRhs()};
}

SmallVector<int64_t> MatmulAddOp::getKernelAttributes() {
  return {getTransposeLhs(), getTransposeRhs()};
}

SmallVector<int64_t> MatmulBiasOp::getKernelAttributes() {
  return {getTransposeLhs(), getTransposeRhs()};
}

SmallVector<int64_t> MatmulGeluOp::getKernelAttributes() {
  return {getTransposeLhs(), getTransposeRhs()};
}

SmallVector<int64_t> MatmulGeluGradOp::getKernelAttributes() {
  return {getTransposeLhs(), getTransposeRhs()};
}

SmallVector<int64_t> ScaledMatmulOp::getKernelAttributes() {
  return {getTransposeLhs(), getTransposeRhs()};
}

//===----------------------------------------------------------------------===//
// FP8
//===----------------------------------------------------------------------===//

ProductExtents MatmulOp::getExtents() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType();
  if (rhs.getRank() != 2 || (lhs.getRank() != 2 && getTransposeLhs()))
    return {};
  auto [sum, columns] = matrixExtents(rhs, getTransposeRhs());
  return {sum == 0 ? 0 : lhs.getNumElements() / sum, sum, columns};
}

bool MatmulOp::isContiguousAlongSum(unsigned factor) {
  return factor == 0 ? !getTransposeLhs() : getTransposeRhs();
}

void MatmulOp::makeContiguousAlongSum(OpBuilder &builder) {
  for (OpOperand &factor : (*this)->getOpOperands()) {
    if (isContiguousAlongSum(factor.getOperandNumber()))
      continue;
    auto type = cast<RankedTensorType>(factor.get().getType());
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
    std::swap(order[order.size() - 2], order.back());
    factor.set(TransposeOp::create(builder, getLoc(), factor.get(), order));
  }
  setTransposeLhs(false);
  setTransposeRhs(true);
}

StringRef MatmulOp::getScaledKernelName() { return kScaledMatmulKernel; }

static UnitAttr flag(OpBuilder &builder, bool set) {
  return set ? builder.getUnitAttr() : UnitAttr();
}

Value MatmulOp::buildScaled(OpBuilder &builder, Value lhsFactor,
                            Value rhsFactor) {
  auto scaled = ScaledMatmulOp::create(
      builder, getLoc(), getType(), getLhs(), getRhs(), lhsFactor, rhsFactor,
      flag(builder, getTransposeLhs()), flag(builder, getTransposeRhs()));
  scaled->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return scaled;
}

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

StringRef MatmulOp::getEpilogueKernelName(Epilogue epilogue) {
  return kernelOf(epilogue);
}

ResultRange MatmulOp::buildWithEpilogue(OpBuilder &builder, Epilogue epilogue,
                                        Value operand) {
  UnitAttr lhs = flag(builder, getTransposeLhs());
  UnitAttr rhs = flag(builder, getTransposeRhs());
  Operation *op = nullptr;
  switch (epilogue) {
  case Epilogue::Sum:
    op = MatmulAddOp::create(builder, getLoc(), operand.getType(), getLhs(),
                             getRhs(), operand, lhs, rhs);
    break;
  case Epilogue::Bias:
    op = MatmulBiasOp::create(builder, getLoc(), getType(), getLhs(), getRhs(),
                              operand, lhs, rhs);
    break;
  case Epilogue::Gelu:
    op = MatmulGeluOp::create(builder, getLoc(), getType(), getType(), getLhs(),
                              getRhs(), operand, lhs, rhs);
    break;
  case Epilogue::GeluGrad:
    op = MatmulGeluGradOp::create(builder, getLoc(), getType(), getLhs(),
                                  getRhs(), operand, lhs, rhs);
    break;
  }
  op->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  return op->getResults();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The shape of the product of the first two operands of `AdaptorTy`.
template <typename AdaptorTy>
static LogicalResult inferShape(AdaptorTy adaptor, const OpError &error,
                                SmallVectorImpl<int64_t> &shape) {
  auto lhs = cast<RankedTensorType>(adaptor.getLhs().getType());
  auto rhs = cast<RankedTensorType>(adaptor.getRhs().getType());
  // matmul_c1, matmul_add_c1, scaled_matmul_c1
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return error("operands must have rank 2 or more, but are ", lhs, " and ",
                 rhs);

  auto [rows, sumLhs] = matrixExtents(lhs, adaptor.getTransposeLhs());
  auto [sumRhs, columns] = matrixExtents(rhs, adaptor.getTransposeRhs());
  // matmul_c2, matmul_add_c2, matmul_bias_c2, matmul_gelu_c2,
  // matmul_gelu_grad_c2, scaled_matmul_c2
  if (sumLhs != sumRhs)
    return error("inner dimensions do not match: ", sumLhs, " in ", lhs,
                 " and ", sumRhs, " in ", rhs);

  // matmul_c3, matmul_add_c3, scaled_matmul_c3
  if (!OpTrait::util::getBroadcastedShape(batchShape(adaptor.getLhs()),
                                          batchShape(adaptor.getRhs()), shape))
    return error("leading dimensions must broadcast, but are ", lhs, " and ",
                 rhs);
  shape.append({rows, columns});
  return success();
}

static LogicalResult inferTypes(MatmulOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(inferShape(op, error, shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, elementOf(op.getLhs())));
  return success();
}
MPC_INFER(MatmulOp, inferTypes)

static LogicalResult inferTypes(MatmulAddOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(inferShape(op, error, shape)))
    return failure();
  RankedTensorType type = pinnedType(shape, op.getLhs());
  if (op.getAddend().getType() != type) // matmul_add_c4
    return error("the addend must be ", type, ", but is ",
                 op.getAddend().getType());
  types.push_back(type);
  return success();
}
MPC_INFER(MatmulAddOp, inferTypes)

/// Infers the type of a product of matrices of one type, and checks an operand
/// of the epilogue.
template <typename AdaptorTy>
static LogicalResult inferWithOperand(AdaptorTy op, Value operand, bool isBias,
                                      const OpError &error,
                                      RankedTensorType &type) {
  SmallVector<int64_t> shape;
  if (failed(inferShape(op, error, shape)))
    return failure();
  Type lhs = op.getLhs().getType(), rhs = op.getRhs().getType();
  // matmul_bias_c1, matmul_gelu_c1, matmul_gelu_grad_c1
  if (shape.size() != 2)
    return error("factors must be matrices, but are ", lhs, " and ", rhs);
  Type element = elementOf(op.getLhs());
  type = RankedTensorType::get(shape, element);
  Type expected = isBias ? RankedTensorType::get({shape[1]}, element) : type;
  // matmul_bias_c3, matmul_gelu_c3, matmul_gelu_grad_c3
  if (operand.getType() != expected || elementOf(op.getRhs()) != element)
    return error("the factors ", lhs, " and ", rhs, " need ",
                 isBias ? "a bias " : "an argument ", expected,
                 " of their type, but it is ", operand.getType());
  return success();
}

static LogicalResult inferTypes(MatmulBiasOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  RankedTensorType type;
  if (failed(inferWithOperand(op, op.getBias(), /*isBias=*/true, error, type)))
    return failure();
  types.push_back(type);
  return success();
}
MPC_INFER(MatmulBiasOp, inferTypes)

static LogicalResult inferTypes(MatmulGeluOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  RankedTensorType type;
  if (failed(inferWithOperand(op, op.getBias(), /*isBias=*/true, error, type)))
    return failure();
  types.append(2, type);
  return success();
}
MPC_INFER(MatmulGeluOp, inferTypes)

static LogicalResult inferTypes(MatmulGeluGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  RankedTensorType type;
  if (failed(inferWithOperand(op, op.getArgument(), /*isBias=*/false, error,
                              type)))
    return failure();
  types.push_back(type);
  return success();
}
MPC_INFER(MatmulGeluGradOp, inferTypes)

static LogicalResult inferTypes(ScaledMatmulOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(inferShape(op, error, shape)))
    return failure();
  types.push_back(
      RankedTensorType::get(shape, Float32Type::get(op.getLhs().getContext())));
  return success();
}
MPC_INFER(ScaledMatmulOp, inferTypes)

// matmul_c4, scaled_matmul_c4
static LogicalResult verifyFormats(Operation *op, Type lhs, Type rhs) {
  if (amp::isFp8Gradient(lhs) && amp::isFp8Gradient(rhs))
    return op->emitOpError("must not read formats for gradients on both sides "
                           "(")
           << lhs << " and " << rhs << "), which no matrix unit multiplies";
  return success();
}

LogicalResult MatmulOp::verify() {
  Type lhs = getLhs().getType().getElementType();
  Type rhs = getRhs().getType().getElementType();
  if (amp::isFp8(lhs) != amp::isFp8(rhs)) // matmul_c4
    return emitOpError("must read FP8 on both sides or on none, but reads ")
           << lhs << " and " << rhs;
  return verifyFormats(*this, lhs, rhs);
}

LogicalResult ScaledMatmulOp::verify() {
  return verifyFormats(*this, getLhs().getType().getElementType(),
                       getRhs().getType().getElementType());
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

/// The tensor that `operand` is a transpose of, matrix by matrix; null if it is
/// not a transpose.
static Value transposeOf(Value operand) {
  auto transpose = operand.getDefiningOp<TransposeOp>();
  if (!transpose || transpose.getInput().getType().getElementType() !=
                        transpose.getType().getElementType())
    return {};
  auto matrices =
      llvm::to_vector(llvm::seq<int64_t>(0, transpose.getType().getRank()));
  if (matrices.size() < 2)
    return {};
  std::swap(matrices[matrices.size() - 2], matrices.back());
  return ArrayRef(matrices) == transpose.getPermutation() ? transpose.getInput()
                                                          : Value();
}

namespace {

/// Products read transposed operands directly: `x W'`, as linear layers are
/// exported, moves no weight.
struct ReadTransposed : OpRewritePattern<MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Value lhs = transposeOf(op.getLhs()), rhs = transposeOf(op.getRhs());
    // Keeps a transposed batch on the left of a single matrix: only if it is
    // not read transposed can its matrices be treated as the rows of one
    // matrix.
    if (lhs && op.getLhs().getType().getRank() > 2 &&
        op.getRhs().getType().getRank() == 2)
      lhs = {};
    if (!lhs && !rhs)
      return rewriter.notifyMatchFailure(op, "no operand is transposed");
    rewriter.modifyOpInPlace(op, [&] {
      if (lhs) {
        op.getLhsMutable().assign(lhs);
        op.setTransposeLhs(!op.getTransposeLhs());
      }
      if (rhs) {
        op.getRhsMutable().assign(rhs);
        op.setTransposeRhs(!op.getTransposeRhs());
      }
    });
    return success();
  }
};

} // namespace

void MatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<ReadTransposed>(context);
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

namespace {

/// A matrix, or its transpose, as an operand of a product.
struct Factor {
  Value value;
  bool transposed;
};

} // namespace

/// Builds a product of the gradient of `op`, in the same layer.
static Value multiply(OpBuilder &builder, MatmulOp op, Factor lhs, Factor rhs,
                      bool weightGradient) {
  return MatmulOp::create(builder, gradientLoc(op.getLoc()), lhs.value,
                          rhs.value, flag(builder, lhs.transposed),
                          flag(builder, rhs.transposed),
                          flag(builder, weightGradient), op.getLayerAttr());
}

/// Stacks the rows of all matrices of a batch into one matrix.
static Value stackMatrices(OpBuilder &builder, Location loc, Value batch) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(batch.getType()).getShape();
  int64_t rows = 1;
  for (int64_t extent : shape.drop_back())
    rows *= extent;
  return reshapeTo(builder, loc, batch, {rows, shape.back()});
}

// With C = A B: dA = dC B' and dB = A' dC. For an operand that is stored
// transposed, the transposed product is built. Only flags change: no matrix is
// transposed in memory.
LogicalResult MatmulOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGrads,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value grad = resultGrads[0];
  bool transposeLhs = getTransposeLhs(), transposeRhs = getTransposeRhs();

  if (needed[0]) {
    bool isWeight = isParameter(getLhs());
    Value product = transposeLhs
                        ? multiply(builder, *this, {getRhs(), transposeRhs},
                                   {grad, true}, isWeight)
                        : multiply(builder, *this, {grad, false},
                                   {getRhs(), !transposeRhs}, isWeight);
    operandGrads[0] =
        sumToShape(builder, loc, product, getLhs().getType().getShape());
  }

  if (needed[1]) {
    bool isWeight = isParameter(getRhs());
    Value lhs = getLhs();
    // rhs is one matrix for the whole batch: a single product over all rows
    // includes the sum over the batch.
    if (getRhs().getType().getRank() == 2 && !transposeLhs) {
      lhs = stackMatrices(builder, loc, lhs);
      grad = stackMatrices(builder, loc, grad);
    }
    Value product = transposeRhs
                        ? multiply(builder, *this, {grad, true},
                                   {lhs, transposeLhs}, isWeight)
                        : multiply(builder, *this, {lhs, !transposeLhs},
                                   {grad, false}, isWeight);
    operandGrads[1] =
        sumToShape(builder, loc, product, getRhs().getType().getShape());
  }
  return success();
}
