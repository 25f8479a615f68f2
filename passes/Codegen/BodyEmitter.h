//===- BodyEmitter.h - The body of a linalg op on vectors -------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_BODYEMITTER_H
#define MPC_PASSES_CODEGEN_BODYEMITTER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

#include <optional>

namespace mpc {

/// A value that differs by a constant step from lane to lane: lane `l` has
/// `first + l * step`.
struct LinearLanes {
  mlir::Value first; ///< A scalar.
  int64_t step = 0;
};

/// Which elements of a tensor the lanes read: `steps`, or a vector of
/// `offsets` from its first element.
struct ComputedAccess {
  mlir::Value tensor;
  std::optional<LinearLanes> steps;
  mlir::Value offsets;
  mlir::Value guard; ///< Lanes that may read; null if all may.
};

/// What a body needs from its kernel.
class BodySource {
public:
  virtual ~BodySource() = default;
  /// `linalg.index dim` as integers of `type`, which is at most 64 bits wide.
  virtual mlir::Value indexValue(unsigned dim, mlir::Type type) = 0;
  virtual LinearLanes indexLanes(unsigned dim) = 0;
  /// The elements at `place`, converted from storage; undefined in lanes that
  /// may not read.
  virtual mlir::Value read(const ComputedAccess &place) = 0;
};

/// Emits the body of `op` for `lanes` elements at once, or for one scalar if
/// `lanes` is 0. If the body reads at computed places
/// (compiler/Dialect/Train/IR/Lowering.h), values that all lanes share stay
/// scalar: an address that advances with the lanes is one load, and a shared
/// condition is a branch.
class BodyEmitter {
public:
  BodyEmitter(mlir::OpBuilder &builder, mlir::linalg::GenericOp op,
              unsigned lanes, BodySource &source);

  /// `inputs` are the values of the input operands. Returns the yielded values;
  /// for a reduction, the added values.
  llvm::SmallVector<mlir::Value> emit(mlir::ValueRange inputs);

private:
  mlir::Value spread(LinearLanes steps);
  mlir::Value vector(mlir::Value value);
  std::optional<LinearLanes> steps(mlir::Value value);
  void setLinearLanes(mlir::Value value, LinearLanes steps);
  mlir::Value constantOf(mlir::arith::ConstantOp op, unsigned count);

  void emitOps(mlir::Block &block);
  void emitOp(mlir::Operation &op);
  bool emitInSteps(mlir::Operation &op);
  void emitPlain(mlir::Operation &op);
  void emitIndexCast(mlir::Operation &op);
  void emitRead(mlir::tensor::ExtractOp op);
  void emitFor(mlir::scf::ForOp op);
  void emitIf(mlir::scf::IfOp op);
  void emitBranch(mlir::scf::IfOp op, mlir::Value condition);

  mlir::OpBuilder &builder;
  mlir::linalg::GenericOp op;
  const unsigned lanes;
  BodySource &source;
  mlir::Operation *combiner = nullptr; ///< Emitted by the caller.
  bool reads = false;
  mlir::Block *home = nullptr; ///< Where the body is emitted.
  mlir::Value guard; ///< Lanes for which the current ops run; null: all.
  mlir::IRMapping values;
  llvm::DenseMap<mlir::Value, LinearLanes> linearLanes;
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_BODYEMITTER_H
