//===- Storage.h - Where each value of a function lives ---------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_STORAGE_H
#define MPC_PASSES_PLAN_STORAGE_H

#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "passes/Plan/ArenaLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

/// Bytes of a dense tensor; booleans take one each.
int64_t byteSize(mlir::RankedTensorType type);

/// Decides which values of a function share memory: views with the viewed
/// tensor, packed tensors with their parts, new values with the state they are
/// written to.
class StoragePlan {
public:
  /// `stateOffsets` gives the offset of each state in the state memory.
  StoragePlan(mlir::func::FuncOp func, mlir::SymbolTable &symbols,
              const llvm::StringMap<int64_t> &stateOffsets);

  /// The buffer of `value`, known once layOut has been called.
  exec::BufferAttr bufferOf(mlir::Value value) const;

  /// A buffer that starts `offset` elements into that of `value`.
  exec::BufferAttr slice(mlir::Value value, int64_t offset,
                         mlir::RankedTensorType type) const;

  /// The buffer of a whole state.
  exec::BufferAttr stateBuffer(llvm::StringRef state,
                               mlir::RankedTensorType type) const;

  /// True if `value` already lies at `place`, so that no copy is needed.
  bool liesAt(mlir::Value value, exec::BufferAttr place) const {
    return bufferOf(value) == place;
  }

  /// Keeps other values from the places of the function's results, so that the
  /// results can be computed elsewhere. Call it before layOut().
  void separateResults();

  /// Assigns arena offsets. Returns the size of the arena.
  int64_t layOut();

  /// The size of the arena if no two regions shared memory.
  int64_t unsharedSize() const;

private:
  /// A region of memory.
  struct Block {
    int64_t size = 0;
    int64_t first = 0,
            last = 0; ///< Instructions; for a pack, `first` is the pack's.
    int64_t offset = 0;
    bool inState = false;
    /// For a packed tensor, the parts that are computed in place.
    llvm::SmallVector<Lifetime::Part> parts;
  };
  /// Where a value lies: a block and a byte offset in it.
  struct Place {
    unsigned block;
    int64_t offset;
  };

  void placeStates();
  void placePacks();
  void placeWrites();
  void placeRest();
  void findLifetimes();
  bool canBeMadeFor(mlir::Value value, mlir::Value root, int64_t inside) const;
  bool mayReplace(mlir::OpResult result, mlir::OpOperand &use) const;
  mlir::Value replacedOperand(mlir::OpResult result) const;
  bool mayBeReplaced(mlir::Value value) const;
  bool canMakeInState(mlir::Operation *producer, mlir::Value value,
                      llvm::ArrayRef<mlir::Value> reads);
  bool canPackInState(train::PackOp pack, llvm::ArrayRef<mlir::Value> reads);
  llvm::ArrayRef<mlir::Value> readsOf(llvm::StringRef state) const;
  /// Calls `visit` with each use of the bytes of `value`, looking through
  /// views.
  static void forEachUse(mlir::Value value,
                         llvm::function_ref<void(mlir::OpOperand &)> visit);
  Place placeOf(mlir::Value value) const;
  /// When each part of a block is needed.
  static Lifetime lifetimeOf(const Block &block);
  static mlir::Value rootOf(mlir::Value value, int64_t &bytes);
  unsigned newBlock(int64_t size);

  mlir::func::FuncOp func;
  mlir::SymbolTable &symbols;
  const llvm::StringMap<int64_t> &stateOffsets;
  std::vector<Block> blocks;
  llvm::DenseMap<mlir::Value, Place> places; ///< Places of roots.
  llvm::DenseMap<mlir::Operation *, int64_t> order;
  llvm::StringMap<llvm::SmallVector<mlir::Value, 1>> reads; ///< By state.
};

} // namespace mpc

#endif // MPC_PASSES_PLAN_STORAGE_H
