//===- Program.h - Entry points and states by what they are for -*- C++ -*-===//
//
// The only way passes find the functions and states of a module. Both have a
// role in the IR (EntryRoles.td, StateOps.td); their symbols mean nothing, so
// that a model may call its initializers what it likes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_PROGRAM_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_PROGRAM_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mpc::train {

/// On a function, and on the `exec.entry` that it becomes: what it is called
/// for.
inline constexpr llvm::StringLiteral kEntryAttr = "train.entry";

/// The role of an entry point; none for any other function.
std::optional<EntryRole> roleOf(mlir::Operation *entry);

inline bool hasRole(mlir::Operation *entry, EntryRole role) {
  return roleOf(entry) == role;
}

/// "step": what people, packages and the C API call an entry point. The symbol
/// of a function that is none.
llvm::StringRef entryName(mlir::Operation *entry);

/// Whether the entry runs once for each batch of training.
bool isTrainingEntry(mlir::Operation *entry);

/// Whether what `op` reads outlives the function: it returns values or writes
/// them to a state.
bool isOutput(mlir::Operation *op);

/// A view of a module of the train dialect; costs nothing to make. Searches
/// walk over the functions or states of the module.
class Program {
public:
  explicit Program(mlir::ModuleOp module) : module(module) {}
  /// The one that `op` is part of.
  static Program around(mlir::Operation *op);

  //===--------------------------------------------------------------------===//
  // Entry points
  //===--------------------------------------------------------------------===//

  /// Null if there is none.
  mlir::func::FuncOp entry(EntryRole role) const;
  /// The one that runs once for each batch of training: `step`, else
  /// `accumulate`; null if the model is not trained.
  mlir::func::FuncOp trainingEntry() const;
  /// The one that changes the weights: `step`, else `apply`; null if the model
  /// is not trained.
  mlir::func::FuncOp updateEntry() const;

  /// Makes `func` the entry point of this role. The verifier refuses a second
  /// one.
  void setRole(mlir::func::FuncOp func, EntryRole role);
  /// A copy of `func` at the end of the module, with another role.
  mlir::func::FuncOp copyEntry(mlir::func::FuncOp func, EntryRole role);

  //===--------------------------------------------------------------------===//
  // States
  //===--------------------------------------------------------------------===//

  /// All states of this role, in their order.
  llvm::SmallVector<StateOp> states(StateRole role) const;
  /// All states of this kind, in their order.
  llvm::SmallVector<StateOp> states(StateKind kind) const;
  /// The first state of this role, of those that belong to `of` if that is
  /// given; null if there is none.
  StateOp state(StateRole role, StateOp of = nullptr) const;

  /// Creates a state before the first function, under the usual name of its
  /// role or one near to that (freeName). Without a value it starts as zeros.
  StateOp createState(StateRole role, mlir::RankedTensorType type,
                      mlir::ElementsAttr value = nullptr,
                      mlir::ArrayAttr slots = nullptr);
  /// The same for roles whose states have names of their own.
  StateOp createState(StateRole role, const llvm::Twine &name,
                      mlir::RankedTensorType type,
                      mlir::ElementsAttr value = nullptr,
                      mlir::ArrayAttr slots = nullptr, StateOp of = nullptr);
  /// The number of this role, created with `value` if it is not there.
  StateOp getOrCreateNumber(StateRole role, mlir::TypedAttr value);

  /// `wanted`, or "mpc." before it as often as it takes, so that no symbol, no
  /// tensor of a pack and no part of the state ("ema/fc.weight") has this name.
  std::string freeName(const llvm::Twine &wanted) const;

private:
  mlir::ModuleOp getModule() const { return module; }

  mlir::ModuleOp module;
};

/// The read and the write of `state` in `func`; null if there is none.
ReadOp findRead(mlir::func::FuncOp func, StateOp state);
WriteOp findWrite(mlir::func::FuncOp func, StateOp state);

/// The read of `state` in `func`, made at its entry if there is none.
mlir::Value getOrCreateRead(mlir::func::FuncOp func, StateOp state);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_PROGRAM_H
