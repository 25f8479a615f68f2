//===- ZeroMaskedRows.cpp - Zeros for fully masked softmax rows -----------===//
//
// Implements mpc-zero-masked-rows.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Ranges.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Graph/Match.h"
#include "passes/Graph/Passes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-zero-masked-rows"

namespace mpc {
#define GEN_PASS_DEF_ZEROMASKEDROWSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// True if each row along the last dimension of `elements` has an element for
/// which `holds` is true.
template <typename T>
static bool anyInEachRow(DenseElementsAttr elements,
                         llvm::function_ref<bool(const T &)> holds) {
  if (elements.isSplat())
    return holds(elements.getSplatValue<T>());
  int64_t length = elements.getType().getShape().back(), place = 0;
  bool any = false;
  for (const T &element : elements.getValues<T>()) {
    any |= holds(element);
    if (++place < length)
      continue;
    if (!any)
      return false;
    any = false, place = 0;
  }
  return true;
}

/// `elements` as a DenseElementsAttr; null if that is not possible. Resources
/// must be f32.
static DenseElementsAttr toDense(Attribute elements) {
  if (auto resource = dyn_cast_or_null<DenseF32ResourceElementsAttr>(elements))
    if (std::optional<ArrayRef<float>> floats = resource.tryGetAsArrayRef())
      return DenseElementsAttr::get(resource.getType(), *floats);
  return dyn_cast_or_null<DenseElementsAttr>(elements);
}

/// The elements of a constant, or of a state that never changes, before they
/// are broadcast: rows stay the same, or get their only element repeated.
static DenseElementsAttr elementsOf(Value value, SymbolTable &symbols) {
  value = beforeBroadcast(value);
  if (auto read = value.getDefiningOp<train::ReadOp>()) {
    auto state = symbols.lookup<train::StateOp>(read.getState());
    if (state && state.getKind() == train::StateKind::Constant)
      return toDense(state.getInitialValueAttr());
    return nullptr;
  }
  Attribute constant;
  matchPattern(value, m_Constant(&constant));
  return toDense(constant);
}

/// Whether `op` keeps each row of its operand in place and at most adds finite
/// numbers to it.
static bool keepsRows(Operation *op, unsigned operand) {
  auto affine = dyn_cast<train::AffineOpInterface>(op);
  bool adds =
      affine && affine.isAffineIn(operand) && !affine.isLinearIn(operand);
  return adds || train::isReshape(op);
}

/// Whether it is known that no row along the last dimension is fully masked:
/// the mask is a constant, like a causal mask, or a constant selects where it
/// applies.
static bool everyRowSees(Value value, const Ranges &ranges,
                         SymbolTable &symbols) {
  if (DenseElementsAttr elements = elementsOf(value, symbols))
    return anyInEachRow<APFloat>(
        elements, [](const APFloat &x) { return !x.isInfinity(); });
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto select = dyn_cast<train::SelectOp>(op)) {
    bool onTrue = ranges.of(select.getOnTrue()).isMasked;
    DenseElementsAttr condition = elementsOf(select.getCondition(), symbols);
    return condition && onTrue != ranges.of(select.getOnFalse()).isMasked &&
           anyInEachRow<bool>(condition,
                              [&](bool chosen) { return chosen != onTrue; });
  }
  OpOperand *masked = nullptr;
  for (OpOperand &operand : op->getOpOperands())
    if (ranges.of(operand.get()).isMasked) {
      if (masked)
        return false;
      masked = &operand;
    }
  if (!masked || shapeOf(masked->get()).empty() ||
      shapeOf(masked->get()).back() != shapeOf(value).back() ||
      !keepsRows(op, masked->getOperandNumber()))
    return false;
  return everyRowSees(masked->get(), ranges, symbols);
}

namespace {

struct ZeroMaskedRowsPass
    : mpc::impl::ZeroMaskedRowsPassBase<ZeroMaskedRowsPass> {
  using Base::Base;

  void runOnOperation() override {
    ConstantFacts constants;
    SymbolTable symbols(getOperation());
    llvm::SetVector<StringRef> noted, attentions;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || (func.getOps<train::SoftmaxOp>().empty() &&
                                func.getOps<train::AttentionOp>().empty()))
        continue;
      Ranges ranges(func, constants);
      for (auto softmax : func.getOps<train::SoftmaxOp>()) {
        if (!ranges.of(softmax.getInput()).isMasked)
          continue;
        LDBG() << "zeros for masked rows of " << softmax;
        softmax.setZeroEmpty(true);
        int64_t last = shapeOf(softmax.getInput()).size() - 1;
        if (softmax.getAxis() != uint64_t(last) ||
            !everyRowSees(softmax.getInput(), ranges, symbols))
          noted.insert(nodeName(softmax.getLoc()));
      }
      for (auto attention : func.getOps<train::AttentionOp>())
        for (Value bias : attention.getBiases())
          if (ranges.of(bias).isMasked && !everyRowSees(bias, ranges, symbols))
            attentions.insert(nodeName(attention.getLoc()));
    }
    note("softmax", noted);
    note("attention", attentions);
  }

  void note(StringRef what, const llvm::SetVector<StringRef> &nodes) {
    if (!nodes.empty())
      addNote(getOperation(),
              what + " '" + nodes.front() + "'" +
                  (nodes.size() > 1
                       ? " and " + Twine(nodes.size() - 1) + " more"
                       : "") +
                  ": fully masked rows (all -inf) produce zeros and zero "
                  "gradients instead of ONNX's NaN");
  }
};

} // namespace
