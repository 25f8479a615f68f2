//===- Origins.cpp - Where values come from and lead to -------------------===//

#include "passes/Precision/Origins.h"

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "passes/Precision/GradientPaths.h"
#include "passes/Precision/PrecisionFacts.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/TypeUtilities.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;

static bool isFloat(Value value) {
  return getFloatElementType(value.getType()) != nullptr;
}

/// True if an element is finite and larger than `most`, or not zero and so
/// small that `least`, the smallest number of a type, is more than twice as
/// large.
template <typename Float>
static bool anyOutside(ArrayRef<char> bytes, double least, double most) {
  ArrayRef<Float> elements(reinterpret_cast<const Float *>(bytes.data()),
                           bytes.size() / sizeof(Float));
  bool found = false; // No early way out: masks are large and have none.
  for (Float element : elements) {
    Float size = std::abs(element);
    found |=
        (size > Float(most) && size <= std::numeric_limits<Float>::max()) ||
        (size > 0 && size <= Float(least / 2));
  }
  return found;
}

static train::StateOp stateOf(train::ReadOp read) {
  return SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
      read, read.getStateAttr());
}

/// The elements of a constant, or of a state that stays what it is; null for
/// what is none, and where all are zeros.
static ElementsAttr constantElements(Operation *op) {
  if (auto constant = dyn_cast<train::ConstantOp>(op))
    return constant.getValue();
  auto read = dyn_cast<train::ReadOp>(op);
  train::StateOp state = read ? stateOf(read) : nullptr;
  return state && state.getKind() == train::StateKind::Constant
             ? state.getInitialValueAttr()
             : nullptr;
}

static ArrayRef<char> rawBytes(ElementsAttr elements) {
  if (auto dense = dyn_cast<DenseElementsAttr>(elements))
    return dense.getRawData();
  auto resource = dyn_cast<DenseResourceElementsAttr>(elements);
  AsmResourceBlob *blob =
      resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob ? blob->getData() : ArrayRef<char>();
}

/// True if `op` is a constant with an element that `low` would make infinite,
/// or zero: a mask, an epsilon. Tables may lose their smallest elements.
static bool isOutOfRange(Operation *op, FloatType low) {
  ElementsAttr elements = constantElements(op);
  if (!elements)
    return false;
  const llvm::fltSemantics &type = low.getFloatSemantics();
  double least = isa<train::ReadOp>(op)
                     ? 0
                     : llvm::APFloat::getSmallest(type).convertToDouble();
  double most = llvm::APFloat::getLargest(type).convertToDouble();
  if (elements.getElementType().isF64())
    return anyOutside<double>(rawBytes(elements), least, most);
  return elements.getElementType().isF32() &&
         anyOutside<float>(rawBytes(elements), least, most);
}

/// True for reads of weights, masters or copies.
static bool readsWeights(Operation *op) {
  auto read = dyn_cast<train::ReadOp>(op);
  train::StateOp state = read ? stateOf(read) : nullptr;
  return state && (state.getKind() == train::StateKind::Parameter ||
                   state.getKind() == train::StateKind::Constant ||
                   state.getKind() == train::StateKind::WorkingCopy);
}

Origins::Origins(func::FuncOp func, FloatType low) {
  Block &body = func.front();
  unbounded.insert(body.args_begin(), body.args_end());
  for (Operation &op : body)
    visitForward(&op, low);
  visitUpdates(func);
  gradients = findGradientPaths(func, ofParameters);
}

/// Back from the writes, as far as gradients; a product is of a later forward
/// pass, or of an update that is more than one.
void Origins::visitUpdates(func::FuncOp func) {
  SmallVector<Value> work;
  for (auto write : func.front().getOps<train::WriteOp>()) {
    auto state = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
        write, write.getStateAttr());
    if (state && (state.getKind() == train::StateKind::Parameter ||
                  state.getKind() == train::StateKind::Optimizer))
      work.push_back(write.getValue());
  }
  for (Value pack : findGradientPacks(func))
    updates.insert(pack);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || isLowOp(op) || isa<train::ReadOp>(op) ||
        !updates.insert(value).second)
      continue;
    llvm::append_range(work, op->getOperands());
  }
}

void Origins::visitForward(Operation *op, FloatType low) {
  // An index picks and a condition chooses; neither is part of the result.
  bool floats = llvm::any_of(op->getOperands(), isFloat);
  bool carries = isOutOfRange(op, low);
  for (Value operand : op->getOperands())
    if (floats ? isFloat(operand) : !getElementTypeOrSelf(operand).isInteger(1))
      carries |= unbounded.contains(operand);
  auto precision = dyn_cast<amp::PrecisionOpInterface>(op);
  if (carries && !isLowOp(op) && !(precision && precision.isBounded()))
    unbounded.insert(op->result_begin(), op->result_end());

  bool isSource = isa<train::ConstantOp>(op) || readsWeights(op);
  if (isSource || (op->getNumOperands() > 0 &&
                   llvm::all_of(op->getOperands(), [&](Value operand) {
                     return ofParameters.contains(operand);
                   })))
    ofParameters.insert(op->result_begin(), op->result_end());
}
