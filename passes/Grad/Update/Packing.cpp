//===- Packing.cpp - All parameters in one state --------------------------===//

#include "passes/Grad/Update/Packing.h"

#include "compiler/Catalog/Catalog.h"
#include "compiler/Support/Faults.h"
#include "passes/ValueBlob.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

// Slots are aligned like buffers, even in a 16-bit copy.
static constexpr int64_t kSlotAlignment = kBufferAlignment / 2;
/// Lays out `states`, one after the other.
static FailureOr<Packing>
layOut(ArrayRef<train::StateOp> states,
       llvm::function_ref<bool(train::StateOp)> beginsRow) {
  Packing packing;
  int64_t size = 0;
  Type element;
  SmallVector<Attribute> slots;
  for (train::StateOp state : states) {
    auto type = cast<RankedTensorType>(state.getType());
    if (!element)
      element = type.getElementType();
    if (!isa<Float32Type, Float64Type>(element) ||
        type.getElementType() != element) {
      state.emitError("parameters must all be f32, or all f64, but '")
          << Fault::UnsupportedType << state.getSymName() << "' is " << type;
      return failure();
    }
    bool begins = beginsRow && beginsRow(state);
    size = llvm::alignTo(size, begins ? kPackRow : kSlotAlignment);
    packing.states.push_back(state);
    packing.offsets.push_back(size);
    slots.push_back(train::SlotAttr::get(
        state.getContext(), state.getSymName(), size,
        DenseI64ArrayAttr::get(state.getContext(), type.getShape())));
    size += type.getNumElements();
  }
  int64_t rows = llvm::divideCeil(size, kPackRow);
  packing.type = RankedTensorType::get({rows, kPackRow}, element);
  packing.slots = ArrayAttr::get(element.getContext(), slots);
  return packing;
}

FailureOr<Packing>
mpc::computePacking(ModuleOp module,
                    llvm::function_ref<bool(train::StateOp)> beginsRow) {
  SmallVector<train::StateOp> states;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getKind() == train::StateKind::Parameter)
      states.push_back(state);
  if (states.empty()) {
    module.emitError("the model has no trainable parameter")
        << Fault::NothingToTrain;
    return failure();
  }
  return layOut(states, beginsRow);
}

FailureOr<Packing>
mpc::computePacking(ArrayRef<train::StateOp> states,
                    llvm::function_ref<bool(train::StateOp)> beginsRow) {
  return layOut(states, beginsRow);
}

/// Copies an initial value to `out`; the bytes of one element are repeated if
/// the value is a splat.
static LogicalResult copyValue(train::StateOp state, ElementsAttr value,
                               MutableArrayRef<char> out) {
  ArrayRef<char> data;
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    data = dense.getRawData();
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      data = blob->getData();
  }
  bool splat = value.isSplat() && data.size() < out.size();
  if (data.empty() || (!splat && data.size() != out.size()))
    return state.emitError("the initial value of '")
           << state.getSymName() << "' is not available";
  for (size_t at = 0; at < out.size(); at += data.size())
    std::memcpy(out.data() + at, data.data(), data.size());
  return success();
}

namespace {

/// Frees the values of states that have been copied elsewhere and will be
/// erased: together they are as large as the model.
class ValueReleaser {
public:
  explicit ValueReleaser(ModuleOp module) {
    module.walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](DenseResourceElementsAttr value) {
        ++uses[value.getRawHandle().getResource()];
      });
    });
  }

  /// Frees `value` unless something else refers to it.
  void release(ElementsAttr value) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(value);
    if (!resource)
      return;
    auto *entry = resource.getRawHandle().getResource();
    if (uses.lookup(entry) == 1)
      entry->setBlob(AsmResourceBlob());
  }

private:
  DenseMap<void *, unsigned> uses;
};

} // namespace

/// Implements packValues; releases each value that has been copied if
/// `releaser` is given.
static FailureOr<ElementsAttr>
copyValues(const Packing &packing, StringRef name, ValueReleaser *releaser) {
  if (llvm::none_of(packing.states,
                    [](train::StateOp s) { return s.getInitialValue(); }))
    return ElementsAttr();
  size_t bytes = packing.type.getElementTypeBitWidth() / 8;
  AsmResourceBlob blob =
      allocateValueBlob(packing.type.getNumElements() * bytes);
  MutableArrayRef<char> out = blob.getMutableData();
  size_t filled = 0;
  auto fillTo = [&](size_t end) {
    std::memset(out.data() + filled, 0, end - filled);
  };
  for (auto [i, offset] : llvm::enumerate(packing.offsets)) {
    train::StateOp state = packing.states[i];
    std::optional<ElementsAttr> value = state.getInitialValue();
    if (!value)
      continue;
    auto type = cast<RankedTensorType>(state.getType());
    size_t size = type.getNumElements() * bytes;
    fillTo(offset * bytes);
    if (failed(copyValue(state, *value, out.slice(offset * bytes, size))))
      return failure();
    filled = offset * bytes + size;
    if (releaser)
      releaser->release(*value);
  }
  fillTo(out.size());
  return ElementsAttr(
      DenseResourceElementsAttr::get(packing.type, name, std::move(blob)));
}

FailureOr<ElementsAttr> mpc::packValues(const Packing &packing,
                                        StringRef name) {
  return copyValues(packing, name, /*releaser=*/nullptr);
}

/// Reads the pack once, at the top of the function, if it reads a parameter.
static void rewriteReads(func::FuncOp func, const Packing &packing,
                         StringRef name) {
  llvm::StringMap<int64_t> offsets;
  for (auto [i, offset] : llvm::enumerate(packing.offsets))
    offsets[train::StateOp(packing.states[i]).getSymName()] = offset;
  SmallVector<train::ReadOp> reads;
  func.walk([&](train::ReadOp read) {
    if (offsets.contains(read.getState()))
      reads.push_back(read);
  });
  if (reads.empty())
    return;

  OpBuilder builder = OpBuilder::atBlockBegin(&func.front());
  Value pack = train::ReadOp::create(
      builder, NameLoc::get(builder.getStringAttr(name)), packing.type, name);
  for (train::ReadOp read : reads) {
    builder.setInsertionPoint(read);
    Value view = train::UnpackOp::create(
        builder, read.getLoc(), read.getType(), pack,
        builder.getI64IntegerAttr(offsets.lookup(read.getState())));
    read.replaceAllUsesWith(view);
    read.erase();
  }
}

FailureOr<train::StateOp> mpc::packParameters(ModuleOp module,
                                              Packing &packing) {
  Program program(module);
  std::string name = program.freeName(usualName(StateRole::Parameter));
  ValueReleaser releaser(module);
  FailureOr<ElementsAttr> value = copyValues(packing, name, &releaser);
  if (failed(value))
    return failure();
  for (auto func : module.getOps<func::FuncOp>())
    rewriteReads(func, packing, name);
  for (train::StateOp state : packing.states)
    state.erase();
  packing.states.clear();
  return program.createState(StateRole::Parameter, name, packing.type, *value,
                             packing.slots);
}
