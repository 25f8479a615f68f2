//===- Program.h - Entry points and states by role --------------*- C++ -*-===//
//
// The only way in which passes find the functions and states of a module. Both
// have a role in the IR (EntryRoles.td, StateOps.td). Their symbols have no
// meaning, so a model may use any names for its initializers.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_PROGRAM_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_PROGRAM_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mpc::train {

/// The role of an entry point, on a function and on the `exec.entry` that it
/// becomes.
inline constexpr llvm::StringLiteral kEntryAttr = "train.entry";

/// The batch size of an entry point for another size than the program's own, in
/// addition to its role.
inline constexpr llvm::StringLiteral kBatchAttr = "train.batch";

/// The role of an entry point; none for any other function.
std::optional<EntryRole> roleOf(mlir::Operation *entry);

inline bool hasRole(mlir::Operation *entry, EntryRole role) {
  return roleOf(entry) == role;
}

/// The value of kBatchAttr; none for an entry point of the program's own batch
/// size.
std::optional<int64_t> otherBatchOf(mlir::Operation *entry);

/// The name of an entry point in messages, packages and the C API: "step", or
/// "step@64" for another batch size. For any other function, its symbol.
std::string entryName(mlir::Operation *entry);

/// Returns true if the entry runs once for each training batch.
bool isTrainingEntry(mlir::Operation *entry);

/// Returns true if the operands of `op` outlive the function: it returns them
/// or writes them to a state.
bool isOutput(mlir::Operation *op);

/// A view of a module of the train dialect; cheap to create. Lookups iterate
/// over the functions or states of the module.
class Program {
public:
  explicit Program(mlir::ModuleOp module) : module(module) {}
  /// The program that `op` is part of.
  static Program around(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Entry points
  //===--------------------------------------------------------------------===//

  /// The entry point with this role, for the program's own batch size; null if
  /// there is none.
  mlir::func::FuncOp entry(EntryRole role) const;
  /// The entry point that runs once for each training batch: `step`, else
  /// `accumulate`; null if the model is not trained.
  mlir::func::FuncOp trainingEntry() const;
  /// The entry point that changes the weights: `step`, else `apply`; null if
  /// the model is not trained.
  mlir::func::FuncOp updateEntry() const;

  /// Makes `func` the entry point of this role, and of another batch size if
  /// that is given. The verifier rejects a second one.
  void setRole(mlir::func::FuncOp func, EntryRole role,
               std::optional<int64_t> otherBatch = std::nullopt);
  /// A copy of `func` at the end of the module, with another role.
  mlir::func::FuncOp copyEntry(mlir::func::FuncOp func, EntryRole role);

  //===--------------------------------------------------------------------===//
  // States
  //===--------------------------------------------------------------------===//

  /// All states of this role, in their order.
  llvm::SmallVector<StateOp> states(StateRole role) const;
  /// All states of this kind, in their order.
  llvm::SmallVector<StateOp> states(StateKind kind) const;
  /// The first state of this role; if `of` is given, the first that belongs to
  /// it. Null if there is none.
  StateOp state(StateRole role, StateOp of = nullptr) const;

  /// Creates a state before the first function, under the usual name of its
  /// role, modified if it is taken (freeName). Without a value it starts as
  /// zeros.
  StateOp createState(StateRole role, mlir::RankedTensorType type,
                      mlir::ElementsAttr value = nullptr,
                      mlir::ArrayAttr slots = nullptr);
  /// The same for roles whose states have individual names.
  StateOp createState(StateRole role, const llvm::Twine &name,
                      mlir::RankedTensorType type,
                      mlir::ElementsAttr value = nullptr,
                      mlir::ArrayAttr slots = nullptr, StateOp of = nullptr);
  /// The state that carries gradients from `accumulate` to `apply`; null without
  /// micro-batches and ranks.
  StateOp carriedGradients() const;

  /// The control state of this role, created with `value` if there is none.
  StateOp getOrCreateNumber(StateRole role, mlir::TypedAttr value);

  /// Returns `wanted`, prefixed with "mpc." as often as needed to differ from
  /// all symbols, all tensors of packs and all parts of states
  /// ("ema/fc.weight").
  std::string freeName(const llvm::Twine &wanted) const;

private:
  mlir::ModuleOp getModule() const { return module; }

  mlir::ModuleOp module;
};

/// The read and the write of `state` in `func`; null if there is none.
ReadOp findRead(mlir::func::FuncOp func, StateOp state);
WriteOp findWrite(mlir::func::FuncOp func, StateOp state);

/// The read of `state` in `func`, created at the function's start if there is
/// none.
mlir::Value getOrCreateRead(mlir::func::FuncOp func, StateOp state);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_PROGRAM_H
