//===- Emit.h - Kernels over one iteration space ----------------*- C++ -*-===//
//
// Norms, softmax and losses are a few reductions and elementwise steps over the
// shape of one tensor. An Emitter is given that shape once; each step then
// lists only its operands and its arithmetic.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_LOWERING_EMIT_H
#define MPC_COMPILER_DIALECT_TRAIN_LOWERING_EMIT_H

#include "compiler/Dialect/Train/Lowering/ScalarMath.h"

namespace mpc::train {

/// Arithmetic on the scalars of one element, and its position.
class Scalars : public ScalarMath {
public:
  Scalars(mlir::OpBuilder &builder, mlir::Location loc)
      : ScalarMath(builder, loc), builder(builder), loc(loc) {}

  mlir::Value log(mlir::Value value);
  mlir::Value log1p(mlir::Value value);
  /// e^(x - offset), computed as a power of 2, which is cheaper. The difference
  /// is taken first: it is exact for close numbers of any size, so that e^0 is
  /// 1.
  mlir::Value expDifference(mlir::Value x, mlir::Value offset);
  mlir::Value constantOf(double value, mlir::Type type) {
    return constantFloat(builder, loc, type, value);
  }
  /// For integers and (false if one is NaN) floats.
  mlir::Value equal(mlir::Value lhs, mlir::Value rhs);
  /// A constant of the type of `like`; null if the type cannot hold it.
  mlir::Value integer(int64_t value, mlir::Value like);
  /// True where the position in dimension `dim` is `index`, an integer within
  /// that dimension (check with isWithin). The extent must fit in 31 bits: the
  /// comparison uses 32 bits, which gives vectors twice as many lanes as 64
  /// bits.
  mlir::Value isAt(int64_t dim, mlir::Value index);
  /// True where `index`, an integer of any width, lies in [0, extent); the
  /// extent must fit in 31 bits.
  mlir::Value isWithin(int64_t extent, mlir::Value index);
  /// Position in dimension `dim` of the iteration space, whose extent must fit
  /// in 31 bits.
  mlir::Value position(int64_t dim);
  mlir::Value toFloat(mlir::Value integer, mlir::Type type);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// An operand of a step: dimension `k` of `value` moves with dimension
/// `dims[k]` of the iteration space.
struct Indexed {
  mlir::Value value;
  llvm::SmallVector<int64_t> dims;
};

class Emitter {
public:
  using Body =
      llvm::function_ref<mlir::Value(Scalars, mlir::ValueRange scalars)>;

  /// Emits over `domain` and computes in `compute`.
  Emitter(mlir::OpBuilder &builder, mlir::Location loc,
          llvm::ArrayRef<int64_t> domain, mlir::FloatType compute)
      : builder(builder), loc(loc), domain(domain), compute(compute) {}

  /// An emitter for another iteration space.
  Emitter over(llvm::ArrayRef<int64_t> other) const {
    return Emitter(builder, loc, other, compute);
  }

  int64_t rank() const { return domain.size(); }
  mlir::FloatType computeType() const { return compute; }
  /// All dimensions of the iteration space.
  llvm::SmallVector<int64_t> all() const { return range(0, rank()); }
  /// Dimensions [begin, end).
  static llvm::SmallVector<int64_t> range(int64_t begin, int64_t end);
  llvm::SmallVector<int64_t> allBut(int64_t dim) const;
  /// The product of the extents of `dims`.
  double count(llvm::ArrayRef<int64_t> dims) const;

  /// Reduces `axes`; the result has the other dimensions.
  mlir::Value reduce(Combiner combiner, llvm::ArrayRef<int64_t> axes,
                     llvm::ArrayRef<Indexed> operands, Body body);
  mlir::Value sum(llvm::ArrayRef<int64_t> axes,
                  llvm::ArrayRef<Indexed> operands, Body body) {
    return reduce(Combiner::Sum, axes, operands, body);
  }
  mlir::Value max(llvm::ArrayRef<int64_t> axes,
                  llvm::ArrayRef<Indexed> operands, Body body) {
    return reduce(Combiner::Max, axes, operands, body);
  }
  /// The largest element of each row along `axis`, for the subtraction in
  /// softmax. Skips NaN: the exponentials of the row propagate it.
  mlir::Value rowMax(int64_t axis, const Indexed &operand);
  /// The same of the numbers that `body` computes from the elements.
  mlir::Value rowMax(int64_t axis, const Indexed &operand, Body body) {
    return reduce(Combiner::MaxNumber, axis, operand, body);
  }

  /// One element for each point of the iteration space.
  mlir::Value map(mlir::Type result, llvm::ArrayRef<Indexed> operands,
                  Body body);
  /// The same, with a result in the compute type.
  mlir::Value map(llvm::ArrayRef<Indexed> operands, Body body);

  /// A step on results of reductions (or on any tensors that broadcast): the
  /// result has the shape of the first operand and the compute type.
  mlir::Value combine(mlir::ValueRange operands, Body body);

  /// The mean over all ranks of a tensor of each of them.
  mlir::Value meanOverRanks(mlir::Value value);

  /// Rounds the elements of `value` to the element type of `type`, if they
  /// differ.
  mlir::Value round(mlir::Value value, mlir::Type type);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<int64_t> domain;
  mlir::FloatType compute;
};

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_LOWERING_EMIT_H
