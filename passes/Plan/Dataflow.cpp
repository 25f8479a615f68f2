//===- Dataflow.cpp - Dataflow of a function apart from memory ------------===//

#include "passes/Plan/Dataflow.h"

#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Plan/Storage.h"

using namespace mlir;
using namespace mpc;

static int64_t sizeOf(Value value) {
  return byteSize(cast<RankedTensorType>(value.getType()));
}

/// Size in bytes of `elements` elements of `tensor`.
static int64_t bytesOf(int64_t elements, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return byteSize(RankedTensorType::get({elements}, type.getElementType()));
}

Dataflow::Dataflow(func::FuncOp func) : func(func) {
  int64_t next = 0;
  for (Value argument : func.getArguments())
    numbers[argument] = next++;
  for (Operation &op : func.getBody().front()) {
    if (auto read = dyn_cast<train::ReadOp>(op)) {
      // All reads of a state return the value that it has when the call begins.
      auto [entry, isNew] = reads.insert({read.getState(), next});
      next += isNew;
      numbers[read.getResult()] = entry->second;
    } else if (!train::isView(&op)) {
      for (Value result : op.getResults())
        numbers[result] = next++;
    }
  }
}

exec::ValueAttr Dataflow::valueAt(int64_t number, int64_t offset) const {
  return exec::ValueAttr::get(func.getContext(), number, offset);
}

exec::ValueAttr Dataflow::valueOf(Value value) const {
  int64_t offset = 0;
  while (auto view = train::viewOf(value.getDefiningOp())) {
    offset += bytesOf(view->offset, value);
    value = view->viewed;
  }
  return valueAt(numbers.at(value), offset);
}

ArrayAttr Dataflow::describeParts() const {
  Builder builder(func.getContext());
  SmallVector<Attribute> parts;
  for (auto pack : func.getOps<train::PackOp>())
    for (auto [input, offset] : llvm::zip(pack.getInputs(), pack.getOffsets()))
      parts.push_back(exec::PartAttr::get(
          builder.getContext(), numbers.at(pack.getResult()),
          bytesOf(offset, input), sizeOf(input), valueOf(input)));
  return builder.getArrayAttr(parts);
}

exec::DataflowAttr Dataflow::describe() const {
  Builder builder(func.getContext());
  auto list = [&](ValueRange values) {
    SmallVector<Attribute> attributes;
    for (Value value : values)
      attributes.push_back(valueOf(value));
    return builder.getArrayAttr(attributes);
  };
  NamedAttrList before, after;
  for (auto [state, number] : reads)
    before.set(state, valueAt(number, 0));
  for (auto write : func.getOps<train::WriteOp>())
    after.set(write.getState(), valueOf(write.getValue()));
  Operation *end = func.getBody().front().getTerminator();
  return exec::DataflowAttr::get(
      builder.getContext(), list(func.getArguments()), list(end->getOperands()),
      before.getDictionary(builder.getContext()),
      after.getDictionary(builder.getContext()), describeParts());
}
