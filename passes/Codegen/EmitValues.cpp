//===- EmitValues.cpp - Values of a kernel, made on demand ---------------===//

#include "passes/Codegen/Emitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mpc;

/// `linalg.index dim` of `node` as integers of `type`.
Value Emitter::indexValue(const KernelNode &node, unsigned dim,
                          const Position &at, Type type) {
  ArrayRef<int64_t> strides = node.indices[dim];
  Value scalar = dot(at.row, strides.take_front(at.row.size()), 0);
  int64_t stride = at.lanes == 0 ? 0 : columnStride(strides);
  if (stride != 0)
    scalar = add(scalar, scaled(at.column, stride));
  unsigned width = type.getIntOrFloatBitWidth();
  if (width < 64)
    scalar = arith::TruncIOp::create(builder, loc, type, scalar);
  Value all = broadcastLanes(builder, loc, scalar, at.lanes);
  if (stride == 0)
    return all;
  SmallVector<APInt> steps;
  for (unsigned lane = 0; lane < at.lanes; ++lane)
    steps.push_back(APInt(64, lane * stride).trunc(width));
  Value lanes = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<VectorType>(all.getType()), steps));
  return arith::AddIOp::create(builder, loc, all, lanes);
}

/// The body of `node` at a position.
SmallVector<Value> Emitter::body(const KernelNode &node, ValueRange inputs,
                                 const Position &at) {
  return emitBody(
      builder, node.op, inputs, at.lanes,
      [&](unsigned dim, Type type) { return indexValue(node, dim, at, type); });
}

Value Emitter::inputValue(const KernelAccess &input, const Position &at) {
  if (auto constant = input.root.getDefiningOp<arith::ConstantOp>()) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    return constantLanes(builder, loc, splat.getSplatValue<TypedAttr>(),
                         at.lanes);
  }
  auto found = producers.find(input.root);
  if (found == producers.end()) {
    if (at.lanes == 0)
      return load(input, at);
    // Once per position: a state may be overwritten at this very place.
    Value &value = loaded[keyOf(input)];
    if (!value)
      value = load(input, at);
    return value;
  }
  const KernelNode &source = domain.nodes[found->second.first];
  bool ofRow = source.level == KernelLevel::Row ||
               source.level == KernelLevel::Outer ||
               source.reduction == KernelReduction::Columns;
  if (!ofRow)
    return evaluate(found->second, at);
  Position scalar = at;
  scalar.lanes = 0;
  scalar.mask = Value();
  return broadcastLanes(builder, loc, rowValue(found->second, scalar),
                        at.lanes);
}

/// A value that the row has once.
Value Emitter::rowValue(NodeResult which, const Position &at) {
  auto found = rowScalars.find(which);
  if (found != rowScalars.end())
    return found->second;
  const KernelNode &node = domain.nodes[which.first];
  assert(node.reduction == KernelReduction::None &&
         "sums are there before they are asked for");
  SmallVector<Value> inputs;
  for (const KernelAccess &input : node.inputs)
    inputs.push_back(inputValue(input, at));
  for (auto [i, result] : llvm::enumerate(body(node, inputs, at)))
    rowScalars[{which.first, unsigned(i)}] = result;
  return rowScalars.at(which);
}

/// A value at columns; of a reduction, what it adds up.
Value Emitter::evaluate(NodeResult which, const Position &at) {
  auto found = made.find(which);
  if (found != made.end())
    return found->second;
  auto [index, result] = which;
  const KernelNode &node = domain.nodes[index];
  SmallVector<Value> inputs;
  for (const KernelAccess &input : node.inputs) {
    auto source = producers.find(input.root);
    // Column ops read finished column sums.
    if (node.level == KernelLevel::Column && source != producers.end() &&
        domain.nodes[source->second.first].reduction == KernelReduction::Rows)
      inputs.push_back(columnSums.at(source->second.first));
    else
      inputs.push_back(inputValue(input, at));
  }
  for (auto [i, value] : llvm::enumerate(body(node, inputs, at)))
    made[{index, unsigned(i)}] = value;
  return made.at(which);
}

/// Makes all outputs of `nodes`, then writes them: an output may lie where an
/// input did.
void Emitter::storeOutputs(ArrayRef<unsigned> nodes, const Position &at) {
  SmallVector<std::pair<const KernelAccess *, Value>> values;
  for (unsigned index : nodes)
    for (auto [i, output] : llvm::enumerate(domain.nodes[index].outputs)) {
      if (!operandOf.count(output.root))
        continue;
      NodeResult which{index, unsigned(i)};
      values.push_back(
          {&output, at.lanes == 0 ? rowValue(which, at) : evaluate(which, at)});
    }
  for (auto [output, value] : values)
    store(*output, at, value);
}

//===----------------------------------------------------------------------===//
// Phases of a row
//===----------------------------------------------------------------------===//

bool Emitter::isExpensive(const KernelNode &node) const {
  linalg::GenericOp op = node.op;
  return llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<math::MathDialect>(inner.getDialect()) ||
           isa<arith::DivFOp>(inner);
  });
}

void Emitter::findPhases() {
  unsigned count = domain.nodes.size();
  phaseOf.assign(count, 0);
  keptIn.assign(count, ~0u);
  for (unsigned i = 0; i < count; ++i)
    for (const KernelAccess &input : domain.nodes[i].inputs) {
      int from = producerOf(input.root);
      if (from < 0)
        continue;
      bool afterSum = domain.nodes[from].reduction == KernelReduction::Columns;
      phaseOf[i] = std::max(phaseOf[i], phaseOf[from] + afterSum);
    }
  phases = 1;
  for (unsigned i = 0; i < count; ++i)
    if (domain.nodes[i].level == KernelLevel::Full)
      phases = std::max(phases, phaseOf[i] + 1);

  // Which phases ask for each op: those of the sums and stores that need it.
  SmallVector<SmallVector<bool>> asked(count, SmallVector<bool>(phases, false));
  for (unsigned i = count; i-- > 0;) {
    const KernelNode &node = domain.nodes[i];
    if (node.level != KernelLevel::Full)
      continue;
    bool stored = llvm::any_of(node.outputs, [&](const KernelAccess &output) {
      return operandOf.count(output.root);
    });
    if (stored || node.reduction != KernelReduction::None)
      asked[i][phaseOf[i]] = true;
    if (llvm::count(asked[i], true) > 1 && isExpensive(node) &&
        node.outputs.size() == 1 && domain.columns() <= 65536) {
      keptIn[i] = llvm::find(asked[i], true) - asked[i].begin();
      for (unsigned phase = keptIn[i] + 1; phase < phases; ++phase)
        asked[i][phase] = false;
    }
    for (const KernelAccess &input : node.inputs) {
      int from = producerOf(input.root);
      if (from < 0 || domain.nodes[from].level != KernelLevel::Full ||
          domain.nodes[from].reduction != KernelReduction::None)
        continue;
      for (unsigned phase = 0; phase < phases; ++phase)
        asked[from][phase] = asked[from][phase] || asked[i][phase];
    }
  }
  if (schedule.walk != KernelSchedule::Walk::Rows &&
      schedule.walk != KernelSchedule::Walk::Outer)
    return;
  for (unsigned i = 0; i < count; ++i)
    if (keptIn[i] != ~0u)
      keptBuffers[i] =
          stackBuffer(storageType(domain.nodes[i].outputs[0].elementType),
                      llvm::alignTo(domain.columns(), schedule.lanes));
}
