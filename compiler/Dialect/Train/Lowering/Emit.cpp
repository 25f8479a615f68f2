//===- Emit.cpp - Kernels over one iteration space ------------------------===//

#include "compiler/Dialect/Train/Lowering/Emit.h"

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <cmath>

using namespace mlir;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Scalars::log(Value value) {
  return math::LogOp::create(builder, loc, value);
}

Value Scalars::log1p(Value value) {
  return math::Log1pOp::create(builder, loc, value);
}

Value Scalars::expDifference(Value x, Value offset) {
  return exp2(mul(sub(x, offset), constant(M_LOG2E, x)));
}

Value Scalars::equal(Value lhs, Value rhs) {
  if (isa<FloatType>(lhs.getType()))
    return compare(arith::CmpFPredicate::OEQ, lhs, rhs);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lhs,
                               rhs);
}

Value Scalars::integer(int64_t value, Value like) {
  if (!llvm::isIntN(like.getType().getIntOrFloatBitWidth(), value))
    return nullptr;
  return arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(like.getType(), value));
}

Value Scalars::isWithin(int64_t extent, Value index) {
  // Narrow integers may not represent the extent.
  if (index.getType().getIntOrFloatBitWidth() < 32)
    index = arith::ExtSIOp::create(builder, loc, builder.getI32Type(), index);
  // Unsigned, so that negative integers compare as too large.
  return compare(arith::CmpIPredicate::ult, index, integer(extent, index));
}

Value Scalars::isAt(int64_t dim, Value index) {
  Value narrow = index;
  unsigned width = index.getType().getIntOrFloatBitWidth();
  if (width > 32)
    narrow = arith::TruncIOp::create(builder, loc, builder.getI32Type(), index);
  else if (width < 32)
    narrow = arith::ExtSIOp::create(builder, loc, builder.getI32Type(), index);
  return equal(position(dim), narrow);
}

Value Scalars::position(int64_t dim) {
  Value index = linalg::IndexOp::create(builder, loc, dim);
  return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
}

Value Scalars::toFloat(Value integer, Type type) {
  return arith::SIToFPOp::create(builder, loc, type, integer);
}

//===----------------------------------------------------------------------===//
// Emitter
//===----------------------------------------------------------------------===//

SmallVector<int64_t> Emitter::range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}

SmallVector<int64_t> Emitter::allBut(int64_t dim) const {
  SmallVector<int64_t> dims = all();
  dims.erase(dims.begin() + dim);
  return dims;
}

double Emitter::count(ArrayRef<int64_t> dims) const {
  double product = 1;
  for (int64_t dim : dims)
    product *= static_cast<double>(domain[dim]);
  return product;
}

/// Splits operands into values and dimensions.
static void unzip(ArrayRef<Indexed> operands, SmallVectorImpl<Value> &values,
                  SmallVectorImpl<SmallVector<int64_t>> &dims) {
  for (const Indexed &operand : operands) {
    values.push_back(operand.value);
    dims.push_back(operand.dims);
  }
}

Value Emitter::reduce(Combiner combiner, ArrayRef<int64_t> axes,
                      ArrayRef<Indexed> operands, Body body) {
  SmallVector<Value> values;
  SmallVector<SmallVector<int64_t>> dims;
  unzip(operands, values, dims);
  return emitReduction(builder, loc, domain, axes, combiner, values, dims,
                       [&](OpBuilder &inner, Location where,
                           ValueRange scalars) -> SmallVector<Value> {
                         return {body(Scalars(inner, where), scalars)};
                       })[0];
}

Value Emitter::rowMax(int64_t axis, const Indexed &operand) {
  return rowMax(axis, operand, [](Scalars, ValueRange v) { return v[0]; });
}

Value Emitter::map(Type result, ArrayRef<Indexed> operands, Body body) {
  SmallVector<Value> values;
  SmallVector<SmallVector<int64_t>> dims;
  unzip(operands, values, dims);
  return emitIndexed(builder, loc, result, values, dims,
                     [&](OpBuilder &inner, Location where,
                         ValueRange scalars) -> SmallVector<Value> {
                       return {body(Scalars(inner, where), scalars)};
                     })[0];
}

Value Emitter::map(ArrayRef<Indexed> operands, Body body) {
  return map(RankedTensorType::get(domain, compute), operands, body);
}

Value Emitter::combine(ValueRange operands, Body body) {
  auto first = cast<RankedTensorType>(operands.front().getType());
  Type result = RankedTensorType::get(first.getShape(), compute);
  return emitElementwise(builder, loc, result, operands,
                         [&](OpBuilder &inner, Location where,
                             ValueRange scalars) -> SmallVector<Value> {
                           return {body(Scalars(inner, where), scalars)};
                         })[0];
}

Value Emitter::meanOverRanks(Value value) {
  return MeanOverRanksOp::create(builder, loc, value);
}

Value Emitter::round(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return emitElementwise(
      builder, loc, type, value,
      [](OpBuilder &, Location, ValueRange scalars) -> SmallVector<Value> {
        return {scalars[0]};
      })[0];
}
