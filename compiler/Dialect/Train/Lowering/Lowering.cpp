//===- Lowering.cpp - Builders of generated kernels -----------------------===//

#include "compiler/Dialect/Train/Lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mpc::train;

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

FloatType mpc::train::getComputeType(ValueRange operands, TypeRange results) {
  auto isF64 = [](Type type) { return getElementTypeOrSelf(type).isF64(); };
  MLIRContext *context = operands.empty() ? results.front().getContext()
                                          : operands.front().getContext();
  if (llvm::any_of(operands.getTypes(), isF64) || llvm::any_of(results, isF64))
    return Float64Type::get(context);
  return Float32Type::get(context);
}

Value mpc::train::convertFloat(OpBuilder &builder, Location loc, Value value,
                               Type type) {
  if (value.getType() == type)
    return value;
  // Skips the conversions of an element that is only moved: they cost
  // instructions and may change its bits.
  if (auto extended = value.getDefiningOp<arith::ExtFOp>())
    if (extended.getIn().getType() == type)
      return extended.getIn();

  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from == to) { // f16 and bf16, by way of f32.
    value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
    return arith::TruncFOp::create(builder, loc, type, value);
  }
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

Value mpc::train::constantFloat(OpBuilder &builder, Location loc, Type type,
                                double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

SmallVector<int64_t> mpc::train::allDims(Value tensor) {
  return llvm::to_vector(llvm::seq<int64_t>(0, tensorType(tensor).getRank()));
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

/// The map of an operand whose dimension `k` moves with dimension `dims[k]` of
/// `domain`, or is the constant 0 if its extent is 1 and that of the domain is
/// not.
static AffineMap operandMap(Value operand, ArrayRef<int64_t> dims,
                            ArrayRef<int64_t> domain) {
  MLIRContext *context = operand.getContext();
  ArrayRef<int64_t> shape = tensorType(operand).getShape();
  assert(shape.size() == dims.size() && "one entry per dimension");
  SmallVector<AffineExpr> exprs;
  for (auto [extent, dim] : llvm::zip_equal(shape, dims)) {
    assert((extent == domain[dim] || extent == 1) && "must broadcast");
    exprs.push_back(extent == domain[dim] ? getAffineDimExpr(dim, context)
                                          : getAffineConstantExpr(0, context));
  }
  return AffineMap::get(domain.size(), 0, exprs, context);
}

/// The region arguments of a generic that stand for operands, with floats
/// converted to the compute type.
static SmallVector<Value> widenArguments(OpBuilder &builder, Location loc,
                                         ValueRange arguments, Type compute) {
  SmallVector<Value> scalars;
  for (Value argument : arguments)
    scalars.push_back(isa<FloatType>(argument.getType())
                          ? convertFloat(builder, loc, argument, compute)
                          : argument);
  return scalars;
}

/// Removes dead ops of the body, such as the widening of an element that is
/// only moved.
static void eraseDeadOps(Block *block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

SmallVector<Value> mpc::train::emitIndexed(OpBuilder &builder, Location loc,
                                           TypeRange resultTypes,
                                           ValueRange operands,
                                           ArrayRef<SmallVector<int64_t>> dims,
                                           ScalarBody body) {
  assert(operands.size() == dims.size() && "one list of dims per operand");
  ArrayRef<int64_t> domain =
      cast<RankedTensorType>(resultTypes.front()).getShape();
  FloatType compute = getComputeType(operands, resultTypes);

  SmallVector<AffineMap> maps;
  for (auto [operand, operandDims] : llvm::zip_equal(operands, dims))
    maps.push_back(operandMap(operand, operandDims, domain));
  SmallVector<Value> inits;
  for (Type type : resultTypes) {
    auto tensor = cast<RankedTensorType>(type);
    assert(tensor.getShape() == domain && "results have one shape");
    inits.push_back(tensor::EmptyOp::create(builder, loc, tensor.getShape(),
                                            tensor.getElementType()));
    maps.push_back(builder.getMultiDimIdentityMap(domain.size()));
  }
  SmallVector<utils::IteratorType> iterators(domain.size(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, resultTypes, operands, inits, maps, iterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        SmallVector<Value> scalars = widenArguments(
            inner, loc, arguments.take_front(operands.size()), compute);
        SmallVector<Value> values = body(inner, loc, scalars);
        for (auto [value, type] : llvm::zip_equal(values, resultTypes))
          if (isa<FloatType>(value.getType()))
            value = convertFloat(inner, loc, value, getElementTypeOrSelf(type));
        linalg::YieldOp::create(inner, loc, values);
      });
  eraseDeadOps(generic.getBody());
  return llvm::to_vector_of<Value>(generic.getResults());
}

SmallVector<Value> mpc::train::emitElementwise(OpBuilder &builder, Location loc,
                                               TypeRange resultTypes,
                                               ValueRange operands,
                                               ScalarBody body) {
  int64_t rank = cast<RankedTensorType>(resultTypes.front()).getRank();
  SmallVector<SmallVector<int64_t>> dims;
  for (Value operand : operands) {
    // NumPy aligns the last dimensions.
    int64_t first = rank - tensorType(operand).getRank();
    dims.push_back(llvm::to_vector(llvm::seq<int64_t>(first, rank)));
  }
  return emitIndexed(builder, loc, resultTypes, operands, dims, body);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static Value emitIdentity(OpBuilder &builder, Location loc,
                          RankedTensorType type, Combiner combiner) {
  double identity = combiner == Combiner::Sum
                        ? 0.0
                        : -std::numeric_limits<double>::infinity();
  Value scalar = constantFloat(builder, loc, type.getElementType(), identity);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}

static Value combine(OpBuilder &builder, Location loc, Combiner combiner,
                     Value value, Value accumulator) {
  switch (combiner) {
  case Combiner::Sum:
    return arith::AddFOp::create(builder, loc, accumulator, value);
  case Combiner::Max:
    return arith::MaximumFOp::create(builder, loc, accumulator, value);
  case Combiner::MaxNumber:
    return arith::MaxNumFOp::create(builder, loc, accumulator, value);
  }
  llvm_unreachable("all combiners are listed");
}

SmallVector<Value> mpc::train::emitReduction(
    OpBuilder &builder, Location loc, ArrayRef<int64_t> domain,
    ArrayRef<int64_t> axes, Combiner combiner, ValueRange operands,
    ArrayRef<SmallVector<int64_t>> dims, ScalarBody body, FloatType compute) {
  assert(operands.size() == dims.size() && "one list of dims per operand");
  assert(llvm::is_sorted(axes) && "axes must be sorted");
  if (!compute)
    compute = getComputeType(operands);

  SmallVector<AffineMap> maps;
  for (auto [operand, operandDims] : llvm::zip_equal(operands, dims))
    maps.push_back(operandMap(operand, operandDims, domain));
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> keptDims;
  SmallVector<int64_t> keptShape;
  for (auto [dim, extent] : llvm::enumerate(domain)) {
    bool reduced = llvm::is_contained(axes, static_cast<int64_t>(dim));
    iterators.push_back(reduced ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
    if (!reduced) {
      keptDims.push_back(builder.getAffineDimExpr(dim));
      keptShape.push_back(extent);
    }
  }
  maps.push_back(
      AffineMap::get(domain.size(), 0, keptDims, builder.getContext()));
  assert(inversePermutation(concatAffineMaps(maps, builder.getContext())) &&
         "some operand must have each reduced dimension");

  auto type = RankedTensorType::get(keptShape, compute);
  SmallVector<Value> results;
  size_t numResults = 1; // The first call of `body` sets it.
  for (size_t i = 0; i < numResults; ++i) {
    // Without axes nothing is reduced, and the init is never read.
    Value init = axes.empty()
                     ? tensor::EmptyOp::create(builder, loc, keptShape, compute)
                           .getResult()
                     : emitIdentity(builder, loc, type, combiner);
    auto generic = linalg::GenericOp::create(
        builder, loc, TypeRange(type), operands, init, maps, iterators,
        [&](OpBuilder &inner, Location, ValueRange arguments) {
          SmallVector<Value> scalars =
              widenArguments(inner, loc, arguments.drop_back(), compute);
          SmallVector<Value> values = body(inner, loc, scalars);
          numResults = values.size();
          Value value = convertFloat(inner, loc, values[i], compute);
          if (!axes.empty())
            value = combine(inner, loc, combiner, value, arguments.back());
          linalg::YieldOp::create(inner, loc, value);
        });
    eraseDeadOps(generic.getBody());
    results.push_back(generic.getResult(0));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static Value collapseAll(OpBuilder &builder, Location loc, Value value) {
  SmallVector<ReassociationIndices> all(1);
  for (int64_t dim : allDims(value))
    all[0].push_back(dim);
  return tensor::CollapseShapeOp::create(builder, loc, value, all);
}

Value mpc::train::emitReshape(OpBuilder &builder, Location loc, Value value,
                              ArrayRef<int64_t> shape) {
  RankedTensorType from = tensorType(value);
  if (from.getShape() == shape)
    return value;

  auto to = RankedTensorType::get(shape, from.getElementType());
  if (from.getRank() != to.getRank())
    if (std::optional<SmallVector<ReassociationIndices>> groups =
            getReassociationIndicesForReshape(from, to)) {
      if (from.getRank() > to.getRank())
        return tensor::CollapseShapeOp::create(builder, loc, to, value,
                                               *groups);
      return tensor::ExpandShapeOp::create(builder, loc, to, value, *groups);
    }

  // Neither shape groups the dimensions of the other: goes through a flat
  // tensor.
  assert(from.getRank() > 0 && to.getRank() > 0 && "scalars always group");
  if (from.getRank() > 1)
    value = collapseAll(builder, loc, value);
  if (to.getRank() == 1)
    return value;
  SmallVector<ReassociationIndices> all(1);
  llvm::append_range(all[0], llvm::seq<int64_t>(0, to.getRank()));
  return tensor::ExpandShapeOp::create(builder, loc, to, value, all);
}
