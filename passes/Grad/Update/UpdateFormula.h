//===- UpdateFormula.h - How a model's own step updates a weight -*- C++ -*-==//
//
// What leads, element by element, from a weight, its gradient and what the step
// keeps for it to their new values. Weights with one formula are updated as one
// pack.
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
  /// The formula of the weight `weight`, null if the function does not read it,
  /// which `write` changes. `known` are the gradients of weights. If this one
  /// `hasNone` of them, its gradients are what is not computed element by
  /// element.
  UpdateFormula(mlir::Value weight, train::WriteOp write,
                const llvm::DenseSet<mlir::Value> &known, bool hasNone);

  /// Whether all of it is element by element.
  bool isPackable() const { return packable; }

  /// Equal for formulas that differ in nothing but what they are applied to.
  const std::string &key() const { return text; }

  /// In the order in which the formula comes to them.
  llvm::SmallVector<mlir::Value> gradients;
  llvm::SmallVector<mlir::Value> others;    ///< Tensors of another origin.
  llvm::SmallVector<train::StateOp> states; ///< That the step keeps for it.
  llvm::SmallVector<train::WriteOp> stateWrites; ///< Null: it is not changed.
  train::WriteOp write;

  /// Emits the formula for packs: of the weights, of each gradient, other
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
  /// By when they were visited, operands before ops.
  llvm::MapVector<mlir::Value, Role> roles;
  llvm::DenseMap<mlir::Value, unsigned> ids;
  bool hasNone;
  bool packable = true;
  std::string text;
};

/// One number for all elements: what `value` is, or what it repeats; null if it
/// is none.
mlir::Value findNumber(mlir::Value value);

} // namespace mpc

#endif // MPC_PASSES_GRAD_UPDATE_UPDATEFORMULA_H
