//===- EmitValues.cpp - Values of a kernel, computed on demand ------------===//

#include "compiler/Analysis/RowPhases.h"
#include "passes/Codegen/Emitter.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mpc;

void Emitter::loop(Value begin, Value end,
                   llvm::function_ref<void(Value)> body) {
  auto forOp = scf::ForOp::create(builder, loc, begin, end, i64(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  body(forOp.getInductionVar());
}

/// Indices of dimensions [begin, end) from their linear index.
SmallVector<Value> Emitter::delinearize(Value index, unsigned begin,
                                        unsigned end) {
  SmallVector<Value> result(end - begin);
  for (unsigned d = end; d-- > begin;) {
    if (d == begin) {
      result[0] = index;
      break;
    }
    Value size = i64(domain.sizes[d]);
    result[d - begin] = arith::RemUIOp::create(builder, loc, index, size);
    index = arith::DivUIOp::create(builder, loc, index, size);
  }
  return result;
}

/// `linalg.index dim` of `node`.
LinearLanes Emitter::indexLanes(const KernelNode &node, unsigned dim,
                                const Position &at) {
  ArrayRef<int64_t> strides = node.indices[dim];
  Value first = dot(at.row, strides.take_front(at.row.size()), 0);
  int64_t stride = at.lanes == 0 ? 0 : columnStride(strides);
  if (stride != 0)
    first = add(first, scaled(at.column, stride));
  return {first, stride};
}

/// `linalg.index dim` of `node` as integers of `type`.
Value Emitter::indexValue(const KernelNode &node, unsigned dim,
                          const Position &at, Type type) {
  auto [scalar, stride] = indexLanes(node, dim, at);
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

/// Emits the body of `node` at a position.
SmallVector<Value> Emitter::body(const KernelNode &node, ValueRange inputs,
                                 const Position &at) {
  struct Source : BodySource {
    Source(Emitter &emitter, const KernelNode &node, const Position &at)
        : emitter(emitter), node(node), at(at) {}
    Value indexValue(unsigned dim, Type type) override {
      return emitter.indexValue(node, dim, at, type);
    }
    LinearLanes indexLanes(unsigned dim) override {
      return emitter.indexLanes(node, dim, at);
    }
    Value read(const ComputedAccess &place) override {
      return emitter.loadComputed(place, at);
    }
    Emitter &emitter;
    const KernelNode &node;
    const Position &at;
  } source(*this, node, at);
  return BodyEmitter(builder, node.op, at.lanes, source).emit(inputs);
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
    // Load only once per position: a state may be overwritten at this place.
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

/// A value that is a scalar per row.
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

/// A value at the columns of a position; for a reduction, the value that it
/// adds up.
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

/// If `node` sums select(column == j, value, 0), where j is the same for the
/// whole row (picking by a label), returns the column j, or 0 if there is no
/// such column. Null for other sums.
Value Emitter::pickedColumn(const KernelNode &node, const Position &at) {
  linalg::GenericOp op = node.op;
  CombinerInfo combiner = findCombiner(op);
  auto select = combiner.added.getDefiningOp<arith::SelectOp>();
  if (!isa<arith::AddFOp>(combiner.op) || !select ||
      !matchPattern(select.getFalseValue(), m_AnyZeroFloat()))
    return nullptr;
  auto compare = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!compare || compare.getPredicate() != arith::CmpIPredicate::eq)
    return nullptr;
  auto cast = compare.getLhs().getDefiningOp<arith::IndexCastOp>();
  auto index =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  if (!index)
    return nullptr;
  ArrayRef<int64_t> strides = node.indices[index.getDim()];
  if (columnStride(strides) != 1 ||
      llvm::any_of(strides.drop_back(), [](int64_t s) { return s != 0; }))
    return nullptr;
  // j: an input that is a scalar of the row, perhaps truncated.
  Value source = compare.getRhs();
  if (auto narrowed = source.getDefiningOp<arith::TruncIOp>())
    source = narrowed.getIn();
  auto argument = dyn_cast<BlockArgument>(source);
  if (!argument || argument.getOwner() != op.getBody())
    return nullptr;
  const KernelAccess &input = node.inputs[argument.getArgNumber()];
  if (columnStride(input.strides) != 0 || producers.count(input.root))
    return nullptr;

  Value wanted = inputValue(input, at);
  Type narrow = compare.getRhs().getType();
  if (wanted.getType() != narrow)
    wanted = arith::TruncIOp::create(builder, loc, narrow, wanted);
  if (!narrow.isInteger(64))
    wanted = arith::ExtSIOp::create(builder, loc, builder.getI64Type(), wanted);
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       wanted, i64(domain.columns()));
  return arith::SelectOp::create(builder, loc, exists, wanted, i64(0));
}

//===----------------------------------------------------------------------===//
// Phases of a row
//===----------------------------------------------------------------------===//

void Emitter::findProducers() {
  for (auto [i, node] : llvm::enumerate(domain.nodes))
    for (auto [k, output] : llvm::enumerate(node.outputs))
      producers[output.root] = {unsigned(i), unsigned(k)};
}

void Emitter::findPhases() {
  RowPhases found = findRowPhases(domain);
  phases = found.count;
  phaseOf = std::move(found.of);
}

void Emitter::makeRowScalars(unsigned last, const Position &at) {
  for (auto [i, node] : llvm::enumerate(domain.nodes))
    if (node.level == KernelLevel::Row && phaseOf[i] <= last &&
        node.reduction == KernelReduction::None)
      rowValue({unsigned(i), 0}, at);
}

Value Emitter::addedByRow(const KernelNode &node, const Position &at) {
  SmallVector<Value> inputs;
  for (const KernelAccess &input : node.inputs)
    inputs.push_back(inputValue(input, at));
  return body(node, inputs, at)[0];
}
