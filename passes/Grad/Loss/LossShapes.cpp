//===- LossShapes.cpp - Class axes, samples and tokens --------------------===//

#include "passes/Grad/Loss/LossShapes.h"

#include "compiler/Support/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;

void mpc::splitLabelsBySample(func::FuncOp func, Value prediction,
                              Value target) {
  auto labels = dyn_cast<BlockArgument>(skipIdentities(target));
  if (!labels || func.getArgAttr(labels.getArgNumber(), kBatchDimAttr))
    return;
  SmallVector<int64_t> shape = mergedDims(func, prediction);
  auto type = cast<RankedTensorType>(labels.getType());
  if (shape.empty() || type.getRank() != 1 ||
      shape.front() == type.getDimSize(0) ||
      ShapedType::getNumElements(shape) != type.getDimSize(0))
    return;
  labels.setType(type.clone(shape));
  OpBuilder builder = OpBuilder::atBlockBegin(&func.getBody().front());
  auto list = train::ReshapeOp::create(builder, func.getLoc(), type, labels);
  labels.replaceAllUsesExcept(list.getResult(), list);
  func.setType(builder.getFunctionType(func.front().getArgumentTypes(),
                                       func.getResultTypes()));
  func.setArgAttr(labels.getArgNumber(), kBatchDimAttr,
                  builder.getI64IntegerAttr(0));
}

std::string mpc::shapeText(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << type.getElementType() << "[";
  llvm::interleave(type.getShape(), os, ",");
  os << "]";
  return text;
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

/// The number of the integer input whose shape is that of `type` without
/// dimension `axis`; -1 if there is none. Inputs with one integer per sample do
/// not count, because they can mean anything.
static int findLabelled(func::FuncOp predict, RankedTensorType type,
                        int64_t axis) {
  SmallVector<int64_t> labels(type.getShape());
  labels.erase(labels.begin() + axis);
  for (BlockArgument input : predict.getArguments())
    if (typeOf(input).getElementType().isInteger() && labels.size() >= 2 &&
        typeOf(input).getShape() == ArrayRef<int64_t>(labels))
      return input.getArgNumber();
  return -1;
}

FailureOr<ClassAxis> mpc::findClassAxis(func::FuncOp predict, unsigned output,
                                        int64_t asked) {
  RankedTensorType type = typeOf(getReturn(predict).getOperand(output));
  int64_t rank = type.getRank();
  if (asked != 0) {
    int64_t axis = asked < 0 ? asked + rank : asked;
    if (axis < 1 || axis >= rank)
      return emitUsageError(predict.getLoc())
             << "option 'label-axis'=" << asked
             << " must name a dimension after the first of output '"
             << resultName(predict, output) << "', " << shapeText(type);
    return ClassAxis{axis, false, "classes along axis " + std::to_string(axis)};
  }

  SmallVector<int64_t> fitting;
  int input = -1;
  for (int64_t axis = 1; axis < rank; ++axis)
    if (int found = findLabelled(predict, type, axis);
        found >= 0 && type.getDimSize(axis) >= 2) {
      fitting.push_back(axis);
      input = found;
    }
  if (fitting.empty())
    return ClassAxis{1, false, rank > 2 ? "classes along axis 1" : ""};
  ClassAxis chosen{fitting.back(), true, ""};
  llvm::raw_string_ostream os(chosen.why);
  os << "classes along axis " << chosen.axis;
  if (fitting.size() > 1) {
    os << ", the last of axes ";
    llvm::interleaveComma(fitting, os);
  }
  os << ", because then labels have the shape of input '"
     << argumentName(predict, input) << "', "
     << shapeText(typeOf(predict.getArgument(input)));
  return chosen;
}

Value mpc::joinDimsBefore(OpBuilder &builder, Location loc, Value value,
                          int64_t axis) {
  ArrayRef<int64_t> shape = typeOf(value).getShape();
  if (axis == 1)
    return value;
  SmallVector<int64_t> joined(shape.drop_front(axis));
  joined.insert(joined.begin(), llvm::product_of(shape.take_front(axis)));
  return train::ReshapeOp::create(
      builder, loc, typeOf(value).clone(ArrayRef<int64_t>(joined)), value);
}

//===----------------------------------------------------------------------===//
// Samples
//===----------------------------------------------------------------------===//

/// The operand of the op that computes `value` whose rows correspond to the
/// rows of `value`; null if there is none.
static Value findRows(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || cast<OpResult>(value).getResultNumber() != 0)
    return nullptr;
  if (auto rows = dyn_cast<train::RowsOpInterface>(op))
    return rows.getRowsOperand();
  auto cost = dyn_cast<train::CostOpInterface>(op);
  if (op->hasTrait<train::ElementByElement>() || (cost && cost.isIdentity()))
    for (Value operand : op->getOperands())
      if (typeOf(operand).getShape() == typeOf(value).getShape())
        return operand;
  return nullptr;
}

/// Whether dimension 0 of `shape` equals the batch dimension of some input.
static bool startsWithSamples(func::FuncOp func, ArrayRef<int64_t> shape) {
  return llvm::any_of(func.getArguments(), [&](BlockArgument input) {
    return func.getArgAttr(input.getArgNumber(), kBatchDimAttr) &&
           typeOf(input).getDimSize(0) == shape.front();
  });
}

SmallVector<int64_t> mpc::mergedDims(func::FuncOp func, Value value) {
  if (typeOf(value).getRank() == 0)
    return {};
  int64_t rows = typeOf(value).getDimSize(0);
  for (; value && typeOf(value).getRank() > 0 &&
         typeOf(value).getDimSize(0) == rows;
       value = findRows(value)) {
    auto reshape = value.getDefiningOp<train::ReshapeOp>();
    if (!reshape)
      continue;
    ArrayRef<int64_t> from = typeOf(reshape.getInput()).getShape();
    ArrayRef<int64_t> to = typeOf(value).getShape();
    if (from.size() > to.size() &&
        from.take_back(to.size() - 1) == to.drop_front() &&
        startsWithSamples(func, from))
      return SmallVector<int64_t>(from.drop_back(to.size() - 1));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

bool mpc::hasLabelPerToken(func::FuncOp predict, Value target) {
  // Labels may have been shifted, sliced or flattened.
  while (Operation *op = target.getDefiningOp()) {
    if (op->getNumOperands() == 0)
      return false;
    target = op->getOperand(0);
  }
  int64_t count = typeOf(target).getNumElements();
  return llvm::any_of(predict.getArguments(), [&](BlockArgument input) {
    return typeOf(input).getElementType().isInteger() &&
           typeOf(input).getRank() >= 2 &&
           typeOf(input).getNumElements() == count &&
           predict.getArgAttr(input.getArgNumber(), kRangeAttr);
  });
}
