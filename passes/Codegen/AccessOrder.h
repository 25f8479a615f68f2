//===- AccessOrder.h - What the code of a kernel touches, in order -*- C++
//-*-===//
//
// The plan puts some results of kernels in the place of an operand. That is
// decided by an analysis of the ops (KernelDomain.h, mayUpdateInPlace); this is
// the proof, taken from the loads and stores that were emitted.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_ACCESSORDER_H
#define MPC_PASSES_CODEGEN_ACCESSORDER_H

#include "compiler/Analysis/KernelDomain.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

/// An operand of a kernel and a result that the plan gives the same memory.
struct SharedPlace {
  unsigned operand; ///< Number of the argument.
  unsigned result;  ///< Number of the result.
};

/// For each kernel, the pairs that some `exec.launch` of `module` gives the
/// same memory. Must be called while kernels still have their results. A result
/// that goes on writing in an operand (continuedArgument) is no such pair.
llvm::StringMap<llvm::SmallVector<SharedPlace>>
findSharedPlaces(mlir::ModuleOp module);

/// The loads and stores of one kernel, in the order of its code. Operands count
/// on behind the arguments: results come last.
///
/// Code walks over positions. What one walk loads at a position and then stores
/// there may share memory; what it loads after the store, at the same position
/// or in a later walk, may not.
class AccessOrder {
public:
  /// The code that follows may run after all of the code before.
  void beginWalk() { ++walk; }
  /// The code that follows touches other elements than the code before.
  void beginPosition() { ++position; }
  /// The code that follows is for other items: it touches nothing that the code
  /// before does.
  void beginItem() { stores.clear(); }

  void load(unsigned operand, const KernelAccess &access);
  void loadAnywhere(unsigned operand);
  void store(unsigned operand, const KernelAccess &access);

  /// True if each element of `operand` is loaded before `result` (an operand
  /// number, too) is stored there, and from the same place.
  bool mayShare(unsigned operand, unsigned result) const;

private:
  using Place = std::pair<int64_t, llvm::SmallVector<int64_t>>;
  struct Store {
    unsigned operand, walk, position;
  };

  unsigned walk = 0, position = 0;
  llvm::SmallVector<Store> stores; ///< In these items.
  llvm::DenseMap<unsigned, llvm::SmallVector<Place, 1>> loaded, stored;
  llvm::DenseSet<unsigned> loadedAnywhere;
  /// Operands that are loaded after a store to another.
  llvm::DenseSet<std::pair<unsigned, unsigned>> loadedLate;
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_ACCESSORDER_H
