//===- EntryPoints.cpp - Inputs and outputs of entry points ---------------===//

#include "passes/Grad/EntryPoints.h"

#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpc;

static StringRef nameOr(Attribute attr) {
  auto name = dyn_cast_or_null<StringAttr>(attr);
  return name ? name.getValue() : StringRef("?");
}

StringRef mpc::argumentName(func::FuncOp func, unsigned index) {
  return nameOr(func.getArgAttr(index, kNameAttr));
}

StringRef mpc::resultName(func::FuncOp func, unsigned index) {
  return nameOr(func.getResultAttr(index, kNameAttr));
}

DictionaryAttr mpc::outputAttributes(MLIRContext *context, StringRef name,
                                     Attribute batchDim) {
  NamedAttrList attrs;
  attrs.set(kNameAttr, StringAttr::get(context, name));
  if (batchDim)
    attrs.set(kBatchDimAttr, batchDim);
  return attrs.getDictionary(context);
}

std::string mpc::gradientName(StringRef name) {
  return ("gradient:" + name).str();
}

bool mpc::predictsOnly(ModuleOp module) {
  return module->hasAttr(kPredictOnlyAttr);
}

func::ReturnOp mpc::getReturn(func::FuncOp func) {
  return cast<func::ReturnOp>(func.front().getTerminator());
}

SmallVector<Output> mpc::getOutputs(func::FuncOp func) {
  SmallVector<Output> outputs;
  for (auto [i, value] : llvm::enumerate(getReturn(func).getOperands())) {
    DictionaryAttr attrs = func.getResultAttrDict(i);
    outputs.push_back(
        {value, attrs ? attrs : DictionaryAttr::get(func.getContext())});
  }
  return outputs;
}

void mpc::setOutputs(func::FuncOp func, ArrayRef<Output> outputs) {
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (const Output &output : outputs) {
    values.push_back(output.value);
    attributes.push_back(output.attributes);
  }
  getReturn(func)->setOperands(values);
  func.setType(FunctionType::get(func.getContext(), func.getArgumentTypes(),
                                 ValueRange(values).getTypes()));
  func.setAllResultAttrs(attributes);
}

Value mpc::outputNamed(func::FuncOp func, StringRef name) {
  for (auto [i, value] : llvm::enumerate(getReturn(func).getOperands()))
    if (resultName(func, i) == name)
      return value;
  return nullptr;
}

void mpc::addOutput(func::FuncOp func, Value value, StringRef name) {
  SmallVector<Output> outputs = getOutputs(func);
  outputs.push_back({value, outputAttributes(func.getContext(), name)});
  setOutputs(func, outputs);
}

Value mpc::skipIdentities(Value value) {
  while (auto op = value.getDefiningOp<train::CostOpInterface>()) {
    if (!op.isIdentity())
      break;
    value = op->getOperand(0);
  }
  return value;
}

void mpc::walkOperands(Value value, llvm::function_ref<bool(Value)> visit) {
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second || !visit(next))
      continue;
    if (Operation *op = next.getDefiningOp())
      llvm::append_range(work, op->getOperands());
  }
}

void mpc::eraseDeadOps(func::FuncOp func) {
  SmallVector<Operation *> ops;
  for (Operation &op : func.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

Value mpc::createScalar(OpBuilder &builder, Location loc, Type type,
                        double value) {
  auto tensor = RankedTensorType::get({}, type);
  Attribute attr = builder.getFloatAttr(type, value);
  return train::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(tensor, attr));
}
