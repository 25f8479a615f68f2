//===- Sources.h - Dependence on data and parameters ------------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_SOURCES_H
#define MPC_PASSES_GRAD_LOSS_SOURCES_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "llvm/ADT/DenseMap.h"

namespace mpc {

/// Which values of a function depend on its inputs, and which on parameters.
/// Computed in one walk; values created later are assumed to depend on both.
class Sources {
public:
  explicit Sources(mlir::Block &entry);

  bool hasData(mlir::Value value) const { return find(value).data; }
  bool hasParameters(mlir::Value value) const { return find(value).parameters; }
  /// Whether the value depends on neither data nor weights.
  bool isConstantLike(mlir::Value value) const {
    Found found = find(value);
    return !found.data && !found.parameters;
  }

private:
  struct Found {
    bool data, parameters;
  };
  Found find(mlir::Value value) const {
    auto it = known.find(value);
    return it == known.end() ? Found{true, true} : it->second;
  }
  Found findOf(mlir::Operation *op) const;

  llvm::DenseMap<mlir::Value, Found> known;
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_SOURCES_H
