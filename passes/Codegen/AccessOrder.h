//===- AccessOrder.h - Loads and stores of a kernel in order ----*- C++ -*-===//
//
// The plan gives some results of kernels the memory of an operand. An analysis
// of the ops decides where (KernelDomain.h, mayUpdateInPlace); this file proves
// from the emitted loads and stores that it is safe.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_ACCESSORDER_H
#define MPC_PASSES_CODEGEN_ACCESSORDER_H

#include "compiler/Analysis/KernelDomain.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

/// An operand of a kernel and a result that the plan gives the same memory.
struct SharedBuffer {
  unsigned operand; ///< Number of the argument.
  unsigned result;  ///< Number of the result.
};

/// For each kernel, the pairs that some `exec.launch` of `module` gives the
/// same memory. Must be called while kernels still have their results. A result
/// that continues writing into an operand (continuedArgument) is not such a
/// pair.
llvm::StringMap<llvm::SmallVector<SharedBuffer>>
findSharedBuffers(mlir::ModuleOp module);

/// The loads and stores of one kernel, in the order of its code. Operands are
/// numbered arguments first, then results.
///
/// Code walks over positions. An operand and a result may share memory if a
/// walk loads the operand at a position before it stores the result there; not
/// if it loads the operand after the store, at the same position or in a later
/// walk.
class AccessOrder {
public:
  /// The code that follows may run after all of the previous code.
  void beginWalk() { ++walk; }
  /// The code that follows accesses other elements than the previous code.
  void beginPosition() { ++position; }
  /// The code that follows is for other items: it accesses nothing that the
  /// previous code does.
  void beginItem() { stores.clear(); }

  void load(unsigned operand, const KernelAccess &access);
  void loadAnywhere(unsigned operand);
  void store(unsigned operand, const KernelAccess &access);

  /// True if each element of `operand` is loaded before `result` (also an
  /// operand number) is stored there, and from the same place.
  bool mayShare(unsigned operand, unsigned result) const;

private:
  using Place = std::pair<int64_t, llvm::SmallVector<int64_t>>;
  struct Store {
    unsigned operand, walk, position;
  };

  unsigned walk = 0, position = 0;
  llvm::SmallVector<Store> stores; ///< Stores for the current items.
  llvm::DenseMap<unsigned, llvm::SmallVector<Place, 1>> loaded, stored;
  llvm::DenseSet<unsigned> loadedAnywhere;
  /// Operands that are loaded after a store to another.
  llvm::DenseSet<std::pair<unsigned, unsigned>> loadedLate;
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_ACCESSORDER_H
