//===- KernelEmitter.cpp - One kernel as vector code ----------------------===//
//
// Walks the domain of a kernel (KernelDomain.h) as its schedule says
// (KernelSchedule.h). Values are made on demand: asking for a result of an op
// at a position emits the op's body there, and first what it needs. What a
// later phase of a row needs again is made again, unless it is expensive: then
// it waits in a buffer on the stack.
//
//===----------------------------------------------------------------------===//

#include "passes/Codegen/KernelEmitter.h"

#include "compiler/Analysis/KernelSchedule.h"
#include "passes/Codegen/VectorBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <map>

using namespace mlir;
using namespace mpc;

namespace {

/// Where values are made: a row, and in it `lanes` columns from `column` on.
struct Position {
  SmallVector<Value> row; ///< Index of each outer and row dimension.
  Value column;           ///< First column; null without columns.
  unsigned lanes = 0;     ///< 0: one scalar, of the row.
  Value mask;             ///< Lanes that exist; null if all do.
};

using NodeResult = std::pair<unsigned, unsigned>;

class Emitter {
public:
  Emitter(func::FuncOp func, KernelDomain domain)
      : func(func), loc(func.getLoc()), builder(func.getContext()),
        domain(std::move(domain)), schedule(scheduleKernel(this->domain)) {}

  void run();

private:
  // Values -------------------------------------------------------------------
  Value i64(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value add(Value lhs, Value rhs) {
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  }
  Value scaled(Value index, int64_t stride) {
    return stride == 1 ? index
                       : arith::MulIOp::create(builder, loc, index, i64(stride))
                             .getResult();
  }
  bool hasColumns() const { return domain.columnBegin < domain.sizes.size(); }
  int64_t columnStride(ArrayRef<int64_t> strides) const {
    return hasColumns() ? strides.back() : 0;
  }
  int producerOf(Value root) const {
    auto found = producers.find(root);
    return found == producers.end() ? -1 : int(found->second.first);
  }

  Value dot(ArrayRef<Value> row, ArrayRef<int64_t> strides, int64_t offset);
  Value rowPointer(const KernelAccess &access, const Position &at);
  Value load(const KernelAccess &access, const Position &at);
  void store(const KernelAccess &access, const Position &at, Value value);
  Value gather(const KernelAccess &access, const Position &at, Value pointer);
  Value indexValue(const KernelNode &node, unsigned dim, const Position &at);
  Value inputValue(const KernelAccess &input, const Position &at);
  Value evaluate(NodeResult which, const Position &at);
  Value rowValue(NodeResult which, const Position &at);

  // Walks --------------------------------------------------------------------
  void findPhases();
  bool isExpensive(const KernelNode &node) const;
  SmallVector<Value> delinearize(Value index, unsigned begin, unsigned end);
  void loop(Value begin, Value end, llvm::function_ref<void(Value)> body);
  void emitFlat();
  void emitRows();
  void emitColumns();
  void emitStrip(ArrayRef<Value> outer, Value first, int64_t vectors,
                 unsigned tail);
  void emitOuter();
  void emitRow(Position at);
  void loadRowScalars(const Position &at);
  void emitPhase(unsigned phase, Position at);
  void vectors(int64_t count, Position at, unsigned unroll,
               SmallVectorImpl<Value> &carried,
               llvm::function_ref<void(const Position &, unsigned)> body);
  void storeOutputs(ArrayRef<unsigned> nodes, const Position &at);
  Value stackBuffer(Type element, int64_t count);
  void newPosition() {
    made.clear();
    loaded.clear();
  }

  func::FuncOp func;
  Location loc;
  OpBuilder builder;
  KernelDomain domain;
  KernelSchedule schedule;

  DenseMap<Value, unsigned> operandOf; ///< Memory root -> operand.
  DenseMap<Value, NodeResult> producers;
  SmallVector<Value> pointers; ///< Of each operand.
  Block *entry = nullptr;

  unsigned phases = 1;
  SmallVector<unsigned> phaseOf;         ///< Of each node: when it can be made.
  SmallVector<unsigned> keptIn;          ///< Phase that keeps it, or ~0.
  DenseMap<unsigned, Value> keptBuffers; ///< Node -> buffer of one row.

  DenseMap<NodeResult, Value> made;      ///< At this position.
  DenseMap<NodeResult, Value> rowScalars; ///< In this row.
  using AccessKey = std::pair<void *, SmallVector<int64_t>>;
  static AccessKey keyOf(const KernelAccess &access) {
    AccessKey key{access.root.getAsOpaquePointer(), access.strides};
    key.second.push_back(access.offset);
    return key;
  }
  std::map<AccessKey, Value> rowLoads; ///< Scalars of this row.
  std::map<AccessKey, Value> loaded;   ///< Vectors of this position.
  DenseMap<unsigned, Value> columnSums;  ///< Node -> values at this position.
  DenseMap<unsigned, Value> sumBuffers;  ///< Node -> memory of its sums.
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Booleans are bytes in memory.
static Type storageType(Type type) {
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

static unsigned storageBytes(Type type) {
  return llvm::divideCeil(type.getIntOrFloatBitWidth(), 8);
}

Value Emitter::dot(ArrayRef<Value> row, ArrayRef<int64_t> strides,
                   int64_t offset) {
  Value sum;
  for (auto [index, stride] : llvm::zip(row, strides))
    if (stride != 0) {
      Value term = scaled(index, stride);
      sum = sum ? add(sum, term) : term;
    }
  if (!sum)
    return i64(offset);
  return offset == 0 ? sum : add(sum, i64(offset));
}

Value Emitter::rowPointer(const KernelAccess &access, const Position &at) {
  Value base = pointers[operandOf.at(access.root)];
  Value element = dot(
      at.row, ArrayRef<int64_t>(access.strides).take_front(at.row.size()),
      access.offset);
  return LLVM::GEPOp::create(builder, loc, base.getType(),
                             storageType(access.elementType), base,
                             ValueRange{element});
}

/// Addresses of lanes that do not lie side by side.
Value Emitter::gather(const KernelAccess &access, const Position &at,
                      Value pointer) {
  Type element = storageType(access.elementType);
  int64_t stride = columnStride(access.strides);
  SmallVector<int64_t> steps;
  for (unsigned lane = 0; lane < at.lanes; ++lane)
    steps.push_back(lane * stride);
  auto indexType = VectorType::get({int64_t(at.lanes)}, builder.getI64Type());
  Value offsets = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(indexType, ArrayRef<int64_t>(steps)));
  Value start = LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                    pointer, ValueRange{scaled(at.column, stride)});
  auto pointersType = VectorType::get({int64_t(at.lanes)}, pointer.getType());
  return LLVM::GEPOp::create(builder, loc, pointersType, element, start,
                             ValueRange{offsets});
}

static Value allLanes(OpBuilder &builder, Location loc, unsigned lanes) {
  return constantLanes(builder, loc, builder.getBoolAttr(true), lanes);
}

/// Zeros of a stored type, for lanes that do not exist.
static Value zeroLanes(OpBuilder &builder, Location loc, Type element,
                       unsigned lanes) {
  return constantLanes(builder, loc, cast<TypedAttr>(builder.getZeroAttr(element)),
                       lanes);
}

Value Emitter::load(const KernelAccess &access, const Position &at) {
  Type element = storageType(access.elementType);
  unsigned bytes = storageBytes(element);
  int64_t stride = columnStride(access.strides);
  Value value;
  if (at.lanes == 0 || stride == 0) {
    auto found = rowLoads.find(keyOf(access));
    value = found != rowLoads.end()
                ? found->second
                : LLVM::LoadOp::create(builder, loc, element,
                                       rowPointer(access, at), bytes);
    value = broadcastLanes(builder, loc, value, at.lanes);
  } else {
    Value pointer = rowPointer(access, at);
    Type type = vectorType(element, at.lanes);
    if (stride == 1) {
      pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                    pointer, ValueRange{at.column});
      if (at.mask)
        value = LLVM::MaskedLoadOp::create(
            builder, loc, type, pointer, at.mask,
            zeroLanes(builder, loc, element, at.lanes), bytes);
      else
        value = LLVM::LoadOp::create(builder, loc, type, pointer, bytes);
    } else {
      Value mask = at.mask ? at.mask : allLanes(builder, loc, at.lanes);
      value = LLVM::masked_gather::create(
          builder, loc, type, gather(access, at, pointer), mask,
          ValueRange{zeroLanes(builder, loc, element, at.lanes)}, bytes);
    }
  }
  if (!access.elementType.isInteger(1))
    return value;
  Value zero = zeroLanes(builder, loc, element, at.lanes);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value,
                               zero);
}

void Emitter::store(const KernelAccess &access, const Position &at,
                    Value value) {
  Type element = storageType(access.elementType);
  unsigned bytes = storageBytes(element);
  if (access.elementType.isInteger(1))
    value = arith::ExtUIOp::create(builder, loc, vectorType(element, at.lanes),
                                   value);
  Value pointer = rowPointer(access, at);
  if (at.lanes == 0) {
    LLVM::StoreOp::create(builder, loc, value, pointer, bytes);
    return;
  }
  int64_t stride = columnStride(access.strides);
  if (stride == 1 || !hasColumns()) {
    if (hasColumns())
      pointer = LLVM::GEPOp::create(builder, loc, pointer.getType(), element,
                                    pointer, ValueRange{at.column});
    if (at.mask)
      LLVM::MaskedStoreOp::create(builder, loc, value, pointer, at.mask, bytes);
    else
      LLVM::StoreOp::create(builder, loc, value, pointer, bytes);
    return;
  }
  Value mask = at.mask ? at.mask : allLanes(builder, loc, at.lanes);
  LLVM::masked_scatter::create(builder, loc, value, gather(access, at, pointer),
                               mask, bytes);
}

/// Memory for `count` elements, taken once per call of the kernel.
Value Emitter::stackBuffer(Type element, int64_t count) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(entry);
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  return LLVM::AllocaOp::create(builder, loc, pointer, element, i64(count), 64);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value Emitter::indexValue(const KernelNode &node, unsigned dim,
                          const Position &at) {
  ArrayRef<int64_t> strides = node.indices[dim];
  Value scalar = dot(at.row, strides.take_front(at.row.size()), 0);
  int64_t stride = columnStride(strides);
  if (at.lanes == 0)
    return scalar;
  if (stride == 0)
    return broadcastLanes(builder, loc, scalar, at.lanes);
  scalar = add(scalar, scaled(at.column, stride));
  SmallVector<int64_t> steps;
  for (unsigned lane = 0; lane < at.lanes; ++lane)
    steps.push_back(lane * stride);
  auto type = VectorType::get({int64_t(at.lanes)}, builder.getI64Type());
  Value lanes = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<int64_t>(steps)));
  return arith::AddIOp::create(
      builder, loc, broadcastLanes(builder, loc, scalar, at.lanes), lanes);
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
  return broadcastLanes(builder, loc, rowValue(found->second, scalar), at.lanes);
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
  auto results = emitBody(builder, node.op, inputs, 0, [&](unsigned dim) {
    return indexValue(node, dim, at);
  });
  for (auto [i, result] : llvm::enumerate(results))
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
  auto results = emitBody(builder, node.op, inputs, at.lanes, [&](unsigned dim) {
    return indexValue(node, dim, at);
  });
  for (auto [i, value] : llvm::enumerate(results))
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
      values.push_back({&output, at.lanes == 0 ? rowValue(which, at)
                                               : evaluate(which, at)});
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
      bool afterSum =
          domain.nodes[from].reduction == KernelReduction::Columns;
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

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

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

/// Emits `body` for `count` columns from 0 on: a loop over `unroll` vectors at
/// a time, the rest unrolled, the last one masked. `body` gets the number of the
/// vector modulo `unroll`; `carried` are values that it replaces.
void Emitter::vectors(int64_t count, Position at, unsigned unroll,
                      SmallVectorImpl<Value> &carried,
                      llvm::function_ref<void(const Position &, unsigned)> body) {
  unsigned lanes = schedule.lanes;
  at.lanes = lanes;
  int64_t full = count / lanes;
  int64_t looped = full / unroll >= 2 ? full / unroll * unroll : 0;
  auto emitAt = [&](Value column, Value mask, unsigned which) {
    newPosition();
    at.column = column;
    at.mask = mask;
    body(at, which);
  };
  if (looped > 0) {
    auto forOp = scf::ForOp::create(builder, loc, i64(0), i64(looped * lanes),
                                    i64(int64_t(unroll) * lanes),
                                    ValueRange(carried));
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(forOp.getBody());
      llvm::copy(forOp.getRegionIterArgs(), carried.begin());
      for (unsigned i = 0; i < unroll; ++i)
        emitAt(i == 0 ? forOp.getInductionVar()
                      : add(forOp.getInductionVar(), i64(int64_t(i) * lanes)),
               Value(), i);
      if (!carried.empty())
        scf::YieldOp::create(builder, loc, carried);
    }
    llvm::copy(forOp.getResults(), carried.begin());
  }
  for (int64_t v = looped; v < full; ++v)
    emitAt(i64(v * lanes), Value(), v % unroll);
  if (int64_t tail = count % lanes) {
    SmallVector<bool> exists(lanes, false);
    std::fill_n(exists.begin(), tail, true);
    auto type = VectorType::get({int64_t(lanes)}, builder.getI1Type());
    Value mask = arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(exists)));
    emitAt(i64(full * lanes), mask, full % unroll);
  }
  newPosition();
}

/// One walk over the columns of a row: sums of this phase, stores, kept values.
void Emitter::emitPhase(unsigned phase, Position at) {
  SmallVector<unsigned> sums, stores, kept, columnAdds;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.level != KernelLevel::Full)
      continue;
    if (keptIn[i] == phase)
      kept.push_back(i);
    if (phaseOf[i] != phase)
      continue;
    if (node.reduction == KernelReduction::Columns)
      sums.push_back(i);
    else if (node.reduction == KernelReduction::Rows)
      columnAdds.push_back(i);
    else
      stores.push_back(i);
  }
  unsigned unroll = sums.empty() ? 2 : 4;
  SmallVector<CombinerInfo> combiners;
  SmallVector<Value> carried;
  for (unsigned sum : sums) {
    combiners.push_back(findCombiner(domain.nodes[sum].op));
    for (unsigned i = 0; i < unroll; ++i)
      carried.push_back(constantLanes(builder, loc, combiners.back().identity,
                                      schedule.lanes));
  }
  vectors(domain.columns(), at, unroll, carried,
          [&](const Position &here, unsigned which) {
    // What an earlier phase kept.
    for (auto [node, buffer] : keptBuffers) {
      if (keptIn[node] >= phase)
        continue;
      Type element = domain.nodes[node].outputs[0].elementType;
      Value pointer = LLVM::GEPOp::create(builder, loc, buffer.getType(),
                                          storageType(element), buffer,
                                          ValueRange{here.column});
      made[{node, 0}] = LLVM::LoadOp::create(
          builder, loc, vectorType(element, here.lanes), pointer,
          storageBytes(element));
    }
    for (unsigned node : kept) {
      Value value = evaluate({node, 0}, here);
      Type element = domain.nodes[node].outputs[0].elementType;
      Value buffer = keptBuffers.at(node);
      Value pointer = LLVM::GEPOp::create(builder, loc, buffer.getType(),
                                          storageType(element), buffer,
                                          ValueRange{here.column});
      LLVM::StoreOp::create(builder, loc, value, pointer, storageBytes(element));
    }
    for (auto [s, sum] : llvm::enumerate(sums)) {
      Value value = evaluate({sum, 0}, here);
      if (here.mask)
        value = arith::SelectOp::create(
            builder, loc, here.mask, value,
            constantLanes(builder, loc, combiners[s].identity, here.lanes));
      Value &total = carried[s * unroll + which];
      total = combine(builder, loc, combiners[s], total, value);
    }
    for (unsigned node : columnAdds) {
      CombinerInfo info = findCombiner(domain.nodes[node].op);
      Value value = evaluate({node, 0}, here);
      Type element = domain.nodes[node].outputs[0].elementType;
      Value buffer = sumBuffers.at(node);
      Value pointer = LLVM::GEPOp::create(builder, loc, buffer.getType(),
                                          element, buffer,
                                          ValueRange{here.column});
      Value old = LLVM::LoadOp::create(builder, loc, value.getType(), pointer,
                                       storageBytes(element));
      LLVM::StoreOp::create(builder, loc, combine(builder, loc, info, old, value),
                            pointer, storageBytes(element));
    }
    storeOutputs(stores, here);
  });
  for (auto [s, sum] : llvm::enumerate(sums)) {
    MutableArrayRef<Value> parts =
        MutableArrayRef<Value>(carried).slice(s * unroll, unroll);
    for (unsigned width = unroll / 2; width > 0; width /= 2)
      for (unsigned i = 0; i < width; ++i)
        parts[i] = combine(builder, loc, combiners[s], parts[i], parts[i + width]);
    bool isMax = isa<arith::MaximumFOp, arith::MaxNumFOp>(combiners[s].op);
    rowScalars[{sum, 0}] = vector::ReductionOp::create(
        builder, loc,
        isMax ? vector::CombiningKind::MAXIMUMF : vector::CombiningKind::ADD,
        parts[0]);
  }
}

/// Loads scalars that every column of the row needs, before the loops.
void Emitter::loadRowScalars(const Position &at) {
  rowLoads.clear();
  for (const KernelNode &node : domain.nodes) {
    if (node.level != KernelLevel::Full && node.level != KernelLevel::Row)
      continue;
    for (const KernelAccess &input : node.inputs) {
      if (!operandOf.count(input.root) || producers.count(input.root) ||
          columnStride(input.strides) != 0)
        continue;
      if (rowLoads.count(keyOf(input)))
        continue;
      Type element = storageType(input.elementType);
      rowLoads[keyOf(input)] = LLVM::LoadOp::create(
          builder, loc, element, rowPointer(input, at), storageBytes(element));
    }
  }
}

/// All phases of one row, then its scalars.
void Emitter::emitRow(Position at) {
  rowScalars.clear();
  newPosition();
  loadRowScalars(at);
  auto emitRowScalars = [&](unsigned before) {
    for (auto [i, node] : llvm::enumerate(domain.nodes))
      if (node.level == KernelLevel::Row && phaseOf[i] <= before &&
          node.reduction == KernelReduction::None)
        rowValue({unsigned(i), 0}, at);
  };
  for (unsigned phase = 0; phase < phases; ++phase) {
    emitRowScalars(phase);
    emitPhase(phase, at);
  }
  emitRowScalars(~0u);
  newPosition();
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    bool perRow = node.level == KernelLevel::Row ||
                  (node.level == KernelLevel::Full &&
                   node.reduction == KernelReduction::Columns);
    if (!perRow)
      continue;
    if (node.reduction == KernelReduction::Rows) {
      CombinerInfo info = findCombiner(node.op);
      SmallVector<Value> inputs;
      for (const KernelAccess &input : node.inputs)
        inputs.push_back(inputValue(input, at));
      Value added = emitBody(builder, node.op, inputs, 0, [&](unsigned dim) {
        return indexValue(node, dim, at);
      })[0];
      Value buffer = sumBuffers.at(i);
      unsigned bytes = storageBytes(added.getType());
      Value old =
          LLVM::LoadOp::create(builder, loc, added.getType(), buffer, bytes);
      LLVM::StoreOp::create(builder, loc, combine(builder, loc, info, old, added),
                            buffer, bytes);
    } else {
      storeOutputs({unsigned(i)}, at);
    }
  }
  rowLoads.clear();
}

//===----------------------------------------------------------------------===//
// Walks
//===----------------------------------------------------------------------===//

void Emitter::emitFlat() {
  Value begin = entry->getArgument(1), end = entry->getArgument(2);
  Position at;
  loadRowScalars(at);
  unsigned lanes = schedule.lanes;
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, domain.nodes.size()));
  auto emitAt = [&](Value column, Value mask) {
    newPosition();
    at.column = column;
    at.lanes = lanes;
    at.mask = mask;
    storeOutputs(all, at);
  };
  Value total = i64(domain.columns());
  Value first = scaled(begin, schedule.itemElements);
  Value last = arith::MinSIOp::create(
      builder, loc, scaled(end, schedule.itemElements), total);
  Value full = arith::SubIOp::create(
      builder, loc, last,
      arith::RemUIOp::create(
          builder, loc, arith::SubIOp::create(builder, loc, last, first),
          i64(lanes)));
  auto forOp = scf::ForOp::create(builder, loc, first, full, i64(lanes));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    emitAt(forOp.getInductionVar(), Value());
  }
  int64_t tail = domain.columns() % lanes;
  if (tail == 0)
    return;
  Value some = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     full, last);
  auto ifOp = scf::IfOp::create(builder, loc, some, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  SmallVector<bool> exists(lanes, false);
  std::fill_n(exists.begin(), tail, true);
  auto type = VectorType::get({int64_t(lanes)}, builder.getI1Type());
  Value mask = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(exists)));
  emitAt(full, mask);
}

void Emitter::emitRows() {
  loop(entry->getArgument(1), entry->getArgument(2), [&](Value item) {
    Position at;
    at.row = delinearize(item, 0, domain.columnBegin);
    emitRow(at);
  });
}

/// One strip: `vectors` whole vectors of columns from `first` on and, if `tail`
/// is not 0, one with that many lanes.
void Emitter::emitStrip(ArrayRef<Value> outer, Value first, int64_t whole,
                        unsigned tail) {
  SmallVector<Position> places;
  for (int64_t v = 0; v < whole + (tail != 0); ++v) {
    Position at;
    at.lanes = schedule.lanes;
    at.column = add(first, i64(v * schedule.lanes));
    if (v == whole) {
      SmallVector<bool> exists(schedule.lanes, false);
      std::fill_n(exists.begin(), tail, true);
      auto type = VectorType::get({int64_t(schedule.lanes)}, builder.getI1Type());
      at.mask = arith::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(exists)));
    }
    places.push_back(at);
  }
  SmallVector<unsigned> sums, elementwise, after;
  SmallVector<CombinerInfo> combiners;
  SmallVector<Value> totals;
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.level == KernelLevel::Column)
      after.push_back(i);
    else if (node.reduction == KernelReduction::None)
      elementwise.push_back(i);
    if (node.reduction != KernelReduction::Rows)
      continue;
    sums.push_back(i);
    combiners.push_back(findCombiner(node.op));
    for (unsigned p = 0; p < places.size(); ++p)
      totals.push_back(constantLanes(builder, loc, combiners.back().identity,
                                     schedule.lanes));
  }
  auto forOp = scf::ForOp::create(builder, loc, i64(0), i64(domain.rows()),
                                  i64(1), totals);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(forOp.getBody());
    SmallVector<Value> next(forOp.getRegionIterArgs());
    SmallVector<Value> row = delinearize(forOp.getInductionVar(),
                                         domain.rowBegin, domain.columnBegin);
    rowLoads.clear();
    for (auto [p, place] : llvm::enumerate(places)) {
      newPosition();
      Position at = place;
      at.row.assign(outer.begin(), outer.end());
      at.row.append(row);
      for (auto [s, sum] : llvm::enumerate(sums)) {
        Value &total = next[s * places.size() + p];
        total = combine(builder, loc, combiners[s], total, evaluate({sum, 0}, at));
      }
      storeOutputs(elementwise, at);
    }
    scf::YieldOp::create(builder, loc, next);
  }
  for (auto [p, place] : llvm::enumerate(places)) {
    newPosition();
    Position at = place;
    at.row.assign(outer.begin(), outer.end());
    // Column ops do not move with the row: any index will do.
    at.row.append(domain.columnBegin - domain.rowBegin, i64(0));
    for (auto [s, sum] : llvm::enumerate(sums)) {
      columnSums[sum] = forOp.getResult(s * places.size() + p);
      made[{sum, 0}] = columnSums[sum];
    }
    storeOutputs(sums, at);
    storeOutputs(after, at);
  }
  newPosition();
}

void Emitter::emitColumns() {
  int64_t width = schedule.stripVectors * schedule.lanes;
  int64_t columns = domain.columns();
  int64_t strips = llvm::divideCeil(columns, width);
  int64_t rest = columns - (strips - 1) * width; // Of the last strip.
  loop(entry->getArgument(1), entry->getArgument(2), [&](Value item) {
    Value outer = item, strip = i64(0);
    if (strips > 1) {
      strip = arith::RemUIOp::create(builder, loc, item, i64(strips));
      outer = arith::DivUIOp::create(builder, loc, item, i64(strips));
    }
    SmallVector<Value> index = delinearize(outer, 0, domain.rowBegin);
    auto emitLast = [&] {
      emitStrip(index, i64((strips - 1) * width), rest / schedule.lanes,
                rest % schedule.lanes);
    };
    if (strips == 1)
      return emitLast();
    if (rest == width) {
      emitStrip(index, scaled(strip, width), schedule.stripVectors, 0);
      return;
    }
    Value isLast = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, strip, i64(strips - 1));
    auto ifOp = scf::IfOp::create(builder, loc, isLast, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(ifOp.thenBlock());
    emitLast();
    builder.setInsertionPointToStart(ifOp.elseBlock());
    emitStrip(index, scaled(strip, width), schedule.stripVectors, 0);
  });
}

void Emitter::emitOuter() {
  // Sums down the rows stay in memory, one row of them for each op.
  int64_t padded = llvm::alignTo(domain.columns(), schedule.lanes);
  for (auto [i, node] : llvm::enumerate(domain.nodes)) {
    if (node.reduction != KernelReduction::Rows)
      continue;
    Type element = node.outputs[0].elementType;
    sumBuffers[i] =
        stackBuffer(element, node.level == KernelLevel::Full ? padded : 1);
  }
  loop(entry->getArgument(1), entry->getArgument(2), [&](Value item) {
    SmallVector<Value> outer = delinearize(item, 0, domain.rowBegin);
    SmallVector<Value> none;
    Position at;
    at.row = outer;
    at.row.append(domain.columnBegin - domain.rowBegin, i64(0));
    auto bufferAt = [&](unsigned node, Value column) -> Value {
      Value buffer = sumBuffers.at(node);
      return LLVM::GEPOp::create(builder, loc, buffer.getType(),
                                 domain.nodes[node].outputs[0].elementType,
                                 buffer, ValueRange{column});
    };
    for (auto [i, buffer] : sumBuffers) {
      CombinerInfo info = findCombiner(domain.nodes[i].op);
      unsigned bytes = storageBytes(domain.nodes[i].outputs[0].elementType);
      if (domain.nodes[i].level == KernelLevel::Row) {
        LLVM::StoreOp::create(builder, loc,
                              constantLanes(builder, loc, info.identity, 0),
                              buffer, bytes);
        continue;
      }
      unsigned node = i;
      vectors(padded, at, 1, none, [&](const Position &here, unsigned) {
        LLVM::StoreOp::create(
            builder, loc,
            constantLanes(builder, loc, info.identity, here.lanes),
            bufferAt(node, here.column), bytes);
      });
    }
    loop(i64(0), i64(domain.rows()), [&](Value row) {
      Position here;
      here.row = outer;
      here.row.append(delinearize(row, domain.rowBegin, domain.columnBegin));
      emitRow(here);
    });
    rowScalars.clear();
    newPosition();
    for (auto [i, node] : llvm::enumerate(domain.nodes))
      if (node.level == KernelLevel::Row &&
          node.reduction == KernelReduction::Rows) {
        Type element = node.outputs[0].elementType;
        rowScalars[{unsigned(i), 0}] = LLVM::LoadOp::create(
            builder, loc, element, sumBuffers.at(i), storageBytes(element));
        storeOutputs({unsigned(i)}, at);
      }
    for (auto [i, node] : llvm::enumerate(domain.nodes))
      if (node.level == KernelLevel::Outer)
        storeOutputs({unsigned(i)}, at);
    rowScalars.clear();
    vectors(domain.columns(), at, 1, none, [&](const Position &here, unsigned) {
      for (auto [i, node] : llvm::enumerate(domain.nodes)) {
        if (node.level == KernelLevel::Full &&
            node.reduction == KernelReduction::Rows) {
          Type element = node.outputs[0].elementType;
          columnSums[i] = LLVM::LoadOp::create(
              builder, loc, vectorType(element, here.lanes),
              bufferAt(i, here.column), storageBytes(element));
          made[{unsigned(i), 0}] = columnSums[i];
          storeOutputs({unsigned(i)}, here);
        } else if (node.level == KernelLevel::Column) {
          storeOutputs({unsigned(i)}, here);
        }
      }
    });
  });
}

void Emitter::run() {
  MLIRContext *context = func.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  Block *body = &func.getBody().front();
  auto returned = cast<func::ReturnOp>(body->getTerminator());

  // The new entry goes in front of the old body, which goes at the end.
  entry = new Block();
  func.getBody().push_front(entry);
  entry->addArguments({pointer, builder.getI64Type(), builder.getI64Type()},
                      {loc, loc, loc});
  builder.setInsertionPointToStart(entry);
  unsigned count = 0;
  auto addOperand = [&](Value root) {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer,
                                     entry->getArgument(0),
                                     ArrayRef<LLVM::GEPArg>{int32_t(count)});
    pointers.push_back(LLVM::LoadOp::create(builder, loc, pointer, slot));
    operandOf[root] = count++;
  };
  for (Value argument : body->getArguments())
    addOperand(argument);
  for (Value result : returned.getOperands())
    addOperand(memoryRoot(result));
  for (auto [i, node] : llvm::enumerate(domain.nodes))
    for (auto [k, output] : llvm::enumerate(node.outputs))
      producers[output.root] = {unsigned(i), unsigned(k)};
  findPhases();

  switch (schedule.walk) {
  case KernelSchedule::Walk::Flat:
    emitFlat();
    break;
  case KernelSchedule::Walk::Rows:
    emitRows();
    break;
  case KernelSchedule::Walk::Columns:
    emitColumns();
    break;
  case KernelSchedule::Walk::Outer:
    emitOuter();
    break;
  }
  func::ReturnOp::create(builder, loc);
  body->erase();
  func.setFunctionType(FunctionType::get(
      context, {pointer, builder.getI64Type(), builder.getI64Type()}, {}));
  func.setResAttrsAttr(nullptr);
  func.setArgAttrsAttr(nullptr);
}

LogicalResult mpc::emitKernel(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> ops;
  for (auto op : kernel.getOps<linalg::GenericOp>())
    ops.push_back(op);
  std::string reason;
  std::optional<KernelDomain> domain = analyzeKernel(ops, &reason);
  if (!domain)
    return kernel.emitError("internal error in mpc-emit-kernels: the ops of '")
           << kernel.getName() << "' have no common domain: " << reason;
  Emitter(kernel, std::move(*domain)).run();
  return success();
}
