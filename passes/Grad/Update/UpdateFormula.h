//===- UpdateFormula.h - Elementwise update of a weight ---------*- C++ -*-===//
//
// The elementwise computation that updates a weight and its states from the
// weight, its gradient and these states. Weights with the same formula are
// updated as one pack.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_UPDATE_UPDATEFORMULA_H
#define MPC_PASSES_GRAD_UPDATE_UPDATEFORMULA_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>
#include <string>

namespace mpc {

class UpdateFormula {
public:
  /// The formula by which `write` updates the weight `weight` (null if the
  /// function does not read it). `known` are the known gradients of weights. If
  /// this weight has none among them (`hasNoKnownGradient`), values that are
  /// not computed elementwise are taken as its gradients.
  UpdateFormula(mlir::Value weight, train::WriteOp write,
                const llvm::DenseSet<mlir::Value> &known,
                bool hasNoKnownGradient);

  /// Whether the whole formula is elementwise.
  bool isPackable() const { return packable; }

  /// Equal for formulas that differ only in the values they are applied to.
  const std::string &key() const { return text; }

  /// In the order in which the formula reads them.
  llvm::SmallVector<mlir::Value> gradients;
  llvm::SmallVector<mlir::Value> others;         ///< Other tensors.
  llvm::SmallVector<train::StateOp> states;      ///< Kept for the weight.
  llvm::SmallVector<train::WriteOp> stateWrites; ///< Null: not written.
  train::WriteOp write;

  /// Emits the formula for packs of the weights and of each gradient, other
  /// tensor and state. Returns the new values of the weights and of each state
  /// that is written.
  llvm::SmallVector<mlir::Value> build(mlir::OpBuilder &builder,
                                       mlir::Value weights,
                                       mlir::ValueRange gradientPacks,
                                       mlir::ValueRange otherPacks,
                                       mlir::ValueRange statePacks);

private:
  enum class Role { Weight, State, Gradient, Other, Number, Computed };

  void visit(mlir::Value value);
  std::optional<Role> leafRole(mlir::Value value);
  bool isOwn(mlir::Value value) const;
  bool isSafeAtZero() const;

  mlir::Value weight;
  const llvm::DenseSet<mlir::Value> *known;
  mlir::RankedTensorType type; ///< Type of the weight.
  /// In the order of visits, operands before ops.
  llvm::MapVector<mlir::Value, Role> roles;
  llvm::DenseMap<mlir::Value, unsigned> ids;
  bool hasNoKnownGradient;
  bool packable = true;
  std::string text;
};

/// The single number that `value` is or repeats for all elements; null if there
/// is none.
mlir::Value findNumber(mlir::Value value);

} // namespace mpc

#endif // MPC_PASSES_GRAD_UPDATE_UPDATEFORMULA_H
