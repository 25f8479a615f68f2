//===- ElementBody.cpp - Elements with computed reads ---------------------===//

#include "compiler/Dialect/Train/Lowering/ElementBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value ElementBody::integer(int64_t value, Value like) {
  return arith::ConstantOp::create(
      builder, loc, builder.getIntegerAttr(like.getType(), value));
}

Value ElementBody::zero(Type element) {
  if (isa<FloatType>(element))
    return number(0);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(element, 0));
}

Value ElementBody::position(int64_t dim) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(home);
  return linalg::IndexOp::create(builder, loc, dim);
}

Value ElementBody::indexConstant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value ElementBody::toIndex(Value integer) {
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    integer);
}

Value ElementBody::toInteger(Value index, Type type) {
  return arith::IndexCastOp::create(builder, loc, type, index);
}

Value ElementBody::toFloat(Value value) {
  if (value.getType().isIndex())
    value = toInteger(value, builder.getI32Type());
  return arith::SIToFPOp::create(builder, loc, compute, value);
}

Value ElementBody::floorToPlace(Value value) {
  Value low =
      arith::FPToSIOp::create(builder, loc, builder.getI32Type(), floor(value));
  return toIndex(low);
}

Value ElementBody::plus(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value ElementBody::minus(Value a, Value b) {
  return arith::SubIOp::create(builder, loc, a, b);
}

Value ElementBody::times(Value a, int64_t factor) {
  return factor == 1
             ? a
             : arith::MulIOp::create(builder, loc, a, indexConstant(factor))
                   .getResult();
}

Value ElementBody::dividedBy(Value a, int64_t divisor) {
  if (divisor == 1)
    return a;
  // Subtracts 1 if the division toward zero rounded up.
  Value by = indexConstant(divisor);
  Value quotient = arith::DivSIOp::create(builder, loc, a, by);
  Value rest = arith::RemSIOp::create(builder, loc, a, by);
  return select(isLess(rest, indexConstant(0)),
                minus(quotient, indexConstant(1)), quotient);
}

Value ElementBody::modulo(Value a, int64_t divisor) {
  if (divisor == 1)
    return indexConstant(0);
  Value by = indexConstant(divisor);
  Value rest = arith::RemSIOp::create(builder, loc, a, by);
  return select(isLess(rest, indexConstant(0)), plus(rest, by), rest);
}

Value ElementBody::least(Value a, Value b) {
  return arith::MinSIOp::create(builder, loc, a, b);
}

Value ElementBody::greatest(Value a, Value b) {
  return arith::MaxSIOp::create(builder, loc, a, b);
}

Value ElementBody::equals(Value a, Value b) {
  return compare(arith::CmpIPredicate::eq, a, b);
}

Value ElementBody::isLess(Value a, Value b) {
  return compare(arith::CmpIPredicate::slt, a, b);
}

Value ElementBody::isWithin(Value a, int64_t extent) {
  return compare(arith::CmpIPredicate::ult, a, indexConstant(extent));
}

//===----------------------------------------------------------------------===//
// Reads and loops
//===----------------------------------------------------------------------===//

Value ElementBody::read(Value tensor, ValueRange places) {
  Value element = tensor::ExtractOp::create(builder, loc, tensor, places);
  return isa<FloatType>(element.getType())
             ? convertFloat(builder, loc, element, compute)
             : element;
}

Value ElementBody::readIf(Value condition, Value tensor, ValueRange places,
                          Value otherwise) {
  auto choice = scf::IfOp::create(builder, loc, otherwise.getType(), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(choice.thenBlock());
  Value element = read(tensor, places);
  assert(element.getType() == otherwise.getType() && "of one type");
  scf::YieldOp::create(builder, loc, element);
  builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise);
  return choice.getResult(0);
}

ElementBody::Values
ElementBody::loop(int64_t count, ValueRange inits,
                  llvm::function_ref<Values(Value, ValueRange)> step) {
  auto loop = scf::ForOp::create(builder, loc, indexConstant(0),
                                 indexConstant(count), indexConstant(1), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Values next = step(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!next.empty())
    scf::YieldOp::create(builder, loc, next);
  return loop.getResults();
}

SmallVector<Value> mpc::train::emitComputed(
    OpBuilder &builder, Location loc, TypeRange results, ValueRange operands,
    FloatType compute,
    llvm::function_ref<ElementBody::Values(ElementBody, ValueRange)> body) {
  return emitElementwise(
      builder, loc, results, operands,
      [&](OpBuilder &inner, Location where, ValueRange scalars) {
        return body(ElementBody(inner, where, compute), scalars);
      });
}
