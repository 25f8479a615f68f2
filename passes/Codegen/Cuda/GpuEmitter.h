//===- GpuEmitter.h - The walk of one kernel on a GPU -----------*- C++ -*-===//
//
// Emits one thread's part of a grid (GpuSchedule.h): flat walks and the frame
// of a kernel (GpuEmitter.cpp), tiles (GpuTiles.cpp), rows and their phases
// (GpuRows.cpp), and cooperation of threads (GpuThreads.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CUDA_GPUEMITTER_H
#define MPC_PASSES_CODEGEN_CUDA_GPUEMITTER_H

#include "compiler/Analysis/GpuSchedule.h"
#include "passes/Codegen/Emitter.h"
#include "passes/Codegen/VectorBody.h"

namespace mpc {

class GpuEmitter : public Emitter {
public:
  GpuEmitter(mlir::func::FuncOp func, KernelDomain domain,
             const GpuSchedule &schedule)
      : Emitter(func, std::move(domain)), schedule(schedule) {}

  void run();

private:
  /// Operands start at multiples of 16 bytes and rows at multiples of a vector.
  unsigned alignmentOf(unsigned lanes, unsigned bytes) const override {
    return lanes == schedule.lanes ? std::min(16u, lanes * bytes) : bytes;
  }

  /// Loads a vector of a long row from memory in the first phase that reads it,
  /// and later from shared memory if it is there.
  mlir::Value load(const KernelAccess &access, const Position &at) override;

  // Walks --------------------------------------------------------------------
  void emitFlat();
  void emitTiles();
  void emitRows();
  void emitColumnReduction();
  void finishColumnReduction(const Position &outer);

  // Tiles --------------------------------------------------------------------
  std::pair<mlir::Value, mlir::Value> findTileOfBlock(Position &at);
  void eachTileVector(
      const Position &tile, mlir::Value firstColumn, mlir::Value firstAcross,
      bool turned,
      llvm::function_ref<void(const Position &, mlir::Value, mlir::Value)>
          body);
  mlir::Value loadAcross(const KernelAccess &access, const Position &at);
  void putInTile(mlir::Value memory, mlir::Value vector, mlir::Value row,
                 mlir::Value place);
  mlir::Value takeFromTile(mlir::Value memory, mlir::Type element,
                           mlir::Value row, mlir::Value place);

  /// The part of an operand that a block transposes in shared memory: a row for
  /// each column of the tile, whose elements lie along `across`.
  struct Tile {
    const KernelAccess *input;
    mlir::Value memory;
  };
  std::vector<Tile> findTiles();

  // Rows ---------------------------------------------------------------------
  /// A vector of columns, of the group's row, that a thread processes.
  struct RowVector {
    mlir::Value column; ///< First column; that of another vector if this one
                        ///< does not exist.
    mlir::Value exists; ///< Whether the vector exists; null if it always does.
  };
  RowVector rowVectorAt(mlir::Value vector, bool mayEnd);
  void makeRowVectors(mlir::Value strip);
  void emitRow(const Position &at);
  void emitPhase(unsigned phase, const Position &at);
  mlir::Value sumOverRow(const CombinerInfo &info, mlir::Value lanes,
                         unsigned node);
  using Visit =
      llvm::function_ref<void(const Position &, unsigned, const RowVector &,
                              llvm::MutableArrayRef<mlir::Value>)>;
  using IterationBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value iteration, mlir::ValueRange sums)>;
  void sumLoop(int64_t iterations, llvm::ArrayRef<CombinerInfo> combiners,
               llvm::SmallVectorImpl<mlir::Value> &sums, IterationBody body);
  void eachVector(const Position &at, llvm::ArrayRef<CombinerInfo> combiners,
                  llvm::SmallVectorImpl<mlir::Value> &carried, Visit visit);
  void enterRowVector(unsigned rowVector);
  void findCache();
  mlir::Value cachedPlace(unsigned input, mlir::Type type);
  void prefetchRowAhead(const KernelAccess &access, mlir::Value place);
  void storeIf(mlir::Value condition, const Stores &stores, const Position &at);
  void storeOfGroup(llvm::ArrayRef<unsigned> nodes, const Position &at);

  // Threads ------------------------------------------------------------------
  mlir::Value i32(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getI32IntegerAttr(value));
  }
  mlir::Value toIndex(mlir::Value number) {
    return mlir::arith::ExtUIOp::create(builder, loc, builder.getI64Type(),
                                        number);
  }
  mlir::Value isLess(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::CmpIOp::create(
        builder, loc, mlir::arith::CmpIPredicate::ult, lhs, rhs);
  }
  mlir::Value isZero(mlir::Value number);
  mlir::Value both(mlir::Value lhs, mlir::Value rhs);
  mlir::Value choose(mlir::Value condition, mlir::Value yes, mlir::Value no);
  void onlyIf(mlir::Value condition, llvm::function_ref<void()> body);
  void findThread();
  void barrier();
  mlir::Value shuffle(mlir::Value value, unsigned distance);
  /// One thread's part of a sum over a row; after reduceWithinGroup, the whole
  /// sum.
  struct RowSum {
    unsigned node;
    CombinerInfo combiner;
    mlir::Value value;
  };
  void reduceWithinGroup(llvm::MutableArrayRef<RowSum> sums);
  mlir::Value reduceAcrossGroups(const CombinerInfo &info, mlir::Value value);
  mlir::Value sharedMemory(llvm::StringRef what, int64_t bytes);
  mlir::Value dynamicSharedMemory();
  mlir::Value elementAt(mlir::Value pointer, mlir::Type element,
                        mlir::Value index);

  GpuSchedule schedule;
  mlir::Block *entry = nullptr;
  mlir::Value thread, block;        ///< i32.
  mlir::Value threadOfGroup, group; ///< i32.
  mlir::Value rowExists;            ///< Null if all rows do.
  mlir::Value iteration; ///< Counter of the loop over rows, if there is one.
  llvm::SmallVector<RowVector> rowVectors; ///< Held in registers.
  llvm::SmallVector<std::pair<llvm::DenseMap<NodeResult, mlir::Value>,
                              std::map<AccessKey, mlir::Value>>>
      held; ///< Values `made` and `loaded` at each vector.
  /// A long row that is partly in dynamic shared memory.
  struct RowCache {
    llvm::SmallVector<const KernelAccess *> inputs;
    mlir::Value memory;      ///< Its address.
    mlir::Value vectors;     ///< Vectors of a thread that fit, i32.
    mlir::Value number;      ///< The number of the thread's vector, i32.
    unsigned phase = 0;      ///< The phase that is being emitted.
    mlir::Value hasRowAhead; ///< Whether there is a row kRowsAhead rows later.
    llvm::SmallVector<std::optional<unsigned>>
        filledIn; ///< The phase that loads each input from memory.
  };
  std::optional<RowCache> cache;
  bool joined = false; ///< A sum over groups was emitted before.
  /// Sums down the rows by node, one for each vector.
  std::map<unsigned, llvm::SmallVector<mlir::Value>> rowSums;
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CUDA_GPUEMITTER_H
