//===- Packing.h - All parameters in one state ------------------*- C++ -*-===//
//
// A pack is a tensor [rows, 1024] that holds every parameter, in the order of
// their states. The update of all weights is then one streaming pass, and
// gradients and moments have the same layout.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_UPDATE_PACKING_H
#define MPC_PASSES_GRAD_UPDATE_PACKING_H

#include "passes/Grad/EntryPoints.h"

namespace mpc {

/// Where each parameter lies in the pack.
struct Packing {
  mlir::RankedTensorType type;              ///< Type of the pack.
  llvm::SmallVector<train::StateOp> states; ///< Parameters, in order.
  llvm::SmallVector<int64_t> offsets;       ///< In elements, one per state.
  mlir::ArrayAttr slots;                    ///< The same, for states.

  mlir::Type elementType() const { return type.getElementType(); }
};

/// Number of elements in a row of a pack; every pack has whole rows.
inline constexpr int64_t kPackRow = 1024;

/// Lays out the parameters of the module. Those for which `beginsRow` holds
/// start a new row. Fails, with a diagnostic, if there are no parameters, or if
/// their element types differ.
mlir::FailureOr<Packing>
computePacking(mlir::ModuleOp module,
               llvm::function_ref<bool(train::StateOp)> beginsRow = nullptr);

/// The same for any states, in their order.
mlir::FailureOr<Packing>
computePacking(llvm::ArrayRef<train::StateOp> states,
               llvm::function_ref<bool(train::StateOp)> beginsRow = nullptr);

/// The initial values of the states of a packing as one resource; null if all
/// are zeros. Fails, with a diagnostic, if one is not in memory.
mlir::FailureOr<mlir::ElementsAttr> packValues(const Packing &packing,
                                               llvm::StringRef name);

/// Replaces the states of the packing by one with their initial values, which
/// is returned, and their reads in all functions by views of it. The states in
/// `packing` are gone afterwards. Fails, with a diagnostic, if an initial value
/// is not in memory.
mlir::FailureOr<train::StateOp> packParameters(mlir::ModuleOp module,
                                               Packing &packing);

} // namespace mpc

#endif // MPC_PASSES_GRAD_UPDATE_PACKING_H
