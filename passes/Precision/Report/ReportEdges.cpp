//===- ReportEdges.cpp - Where operands come from -------------------------===//

#include "passes/Precision/Report/ReportEdges.h"

#include "compiler/Support/UserInput/Json.h"

using namespace mlir;
using namespace mpc;

static std::string elementName(Value value) {
  std::string name;
  if (FloatType type = getFloatElementType(value.getType()))
    llvm::raw_string_ostream(name) << type;
  return name;
}

/// The number of bytes that `op` reads of the operand.
static int64_t bytesRead(Operation *op, OpOperand &use) {
  auto type = cast<ShapedType>(use.get().getType());
  auto cost = dyn_cast<train::CostOpInterface>(op);
  int64_t elements =
      cost ? cost.countReads(use.getOperandNumber()) : type.getNumElements();
  return elements * type.getElementTypeBitWidth() / 8;
}

bool mpc::isCast(Operation *op) {
  return isa_and_nonnull<amp::CastOp, amp::QuantizeOp>(op);
}

ReportEdges::ReportEdges(func::FuncOp func,
                         function_ref<bool(Operation *)> isListed) {
  for (Operation &op : func.front()) {
    if (isReported(&op))
      lines.try_emplace(&op, lines.size());
    if (!isCast(&op) || !isListed(&op))
      continue;
    castNumbers[&op] = listed.size();
    listed.push_back(&op);
  }
}

void ReportEdges::addOrigin(Value value, llvm::json::Object &object) const {
  // Removing the scales counts as part of the product.
  if (auto unscaled = value.getDefiningOp<amp::DequantizeOp>())
    value = unscaled.getInput();
  if (auto found = lines.find(value.getDefiningOp()); found != lines.end())
    object["op"] = found->second;
  else if (StringRef state = stateName(value); !state.empty())
    object["state"] = utf8(state);
  else if (isa<BlockArgument>(value))
    object["input"] = true;
}

llvm::json::Array ReportEdges::inputsOf(Operation *op) const {
  auto precision = cast<amp::PrecisionOpInterface>(op);
  llvm::json::Array inputs;
  inputs.reserve(op->getNumOperands());
  for (OpOperand &use : op->getOpOperands()) {
    std::string type = elementName(use.get());
    if (type.empty())
      continue;
    llvm::json::Object input{{"dtype", type}, {"bytes", bytesRead(op, use)}};
    Value value = use.get();
    if (Operation *cast = value.getDefiningOp(); isCast(cast)) {
      if (auto found = castNumbers.find(cast); found != castNumbers.end())
        input["cast"] = found->second;
      value = cast->getOperand(0);
    }
    addOrigin(value, input);
    if (precision.isOperandPinned(use.getOperandNumber()))
      input["pinned"] = true;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

llvm::json::Array ReportEdges::casts() const {
  llvm::json::Array array;
  array.reserve(listed.size());
  for (Operation *cast : listed) {
    Value input = cast->getOperand(0), result = cast->getResult(0);
    int64_t bits = getFloatElementType(input.getType()).getWidth() +
                   getFloatElementType(result.getType()).getWidth();
    llvm::json::Object object{
        {"from", elementName(input)},
        {"to", elementName(result)},
        {"bytes",
         mlir::cast<ShapedType>(result.getType()).getNumElements() * bits / 8},
        {"weight", getWeightState(input) != nullptr}};
    addOrigin(input, object);
    array.push_back(std::move(object));
  }
  return array;
}
