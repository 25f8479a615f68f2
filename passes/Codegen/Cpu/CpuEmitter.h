//===- CpuEmitter.h - The walk of one kernel on a CPU -----------*- C++ -*-===//
//
// Loops over vectors: whole walks (CpuEmitter.cpp), rows and their phases
// (CpuRows.cpp), and sums down the rows in the same walk (CpuOuter.cpp). A
// value that a later phase of a row needs again is recomputed, unless it is
// expensive: then it is kept in a buffer on the stack.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CPU_CPUEMITTER_H
#define MPC_PASSES_CODEGEN_CPU_CPUEMITTER_H

#include "compiler/Analysis/KernelSchedule.h"
#include "passes/Codegen/Emitter.h"
#include "passes/Codegen/VectorBody.h"

#include "llvm/ADT/MapVector.h"

namespace mpc {

/// Number of rows that are added up in f32 before the sum is added to an f64
/// total: the rounding error of a sum grows with the number of its terms.
constexpr int64_t kBlockOfRows = 32;

class CpuEmitter : public Emitter {
public:
  CpuEmitter(mlir::func::FuncOp func, KernelDomain domain, unsigned maxLanes)
      : Emitter(func, std::move(domain)),
        schedule(scheduleKernel(this->domain, maxLanes)) {}

  void run();

private:
  /// Operands may have any alignment: unaligned accesses cost nothing on a CPU.
  unsigned alignmentOf(unsigned, unsigned bytes) const override {
    return bytes;
  }

  void emitFlat();
  void emitRows();
  void emitColumns();
  void emitStrip(llvm::ArrayRef<mlir::Value> outer, mlir::Value first,
                 int64_t vectors, unsigned tail);
  void emitOuter();
  mlir::Value sumAt(mlir::Value buffer, mlir::Type element, mlir::Value column);
  void eachSum(const Position &at,
               llvm::function_ref<void(unsigned node, const CombinerInfo &,
                                       mlir::Value column, unsigned lanes)>
                   body);
  void clearSums(const Position &at);
  void addSumsToTotals(const Position &at);
  mlir::Value finishedSum(unsigned node, mlir::Value column, unsigned lanes);
  void finishOuter(const Position &at);
  void emitRow(Position at);
  void emitPhase(unsigned phase, Position at);
  void prefetchNextRow(const Position &at, unsigned which, unsigned iteration);
  using EachVector = llvm::function_ref<void(const Position &, unsigned)>;
  void vectors(int64_t count, Position at, unsigned unroll,
               llvm::SmallVectorImpl<mlir::Value> &carried, EachVector body,
               mlir::Value first = {});
  void sumOverRow(llvm::ArrayRef<unsigned> sums,
                  llvm::ArrayRef<CombinerInfo> combiners, const Position &at,
                  unsigned unroll, llvm::SmallVectorImpl<mlir::Value> &carried,
                  EachVector body);

  bool isExpensive(const KernelNode &node) const;
  void findKept();
  mlir::Value stackBuffer(mlir::Type element, int64_t count);

  KernelSchedule schedule;
  mlir::Block *entry = nullptr;
  llvm::SmallVector<unsigned> keptIn; ///< Phase that keeps each node, or ~0.
  llvm::DenseMap<unsigned, mlir::Value>
      keptBuffers; ///< Node -> buffer of one row.
  /// Node -> memory of its sums down the rows: one per column, or a single one.
  llvm::MapVector<unsigned, mlir::Value> sumBuffers;
  /// The same in f64, for sums that are added up in blocks of rows.
  llvm::DenseMap<unsigned, mlir::Value> totalBuffers;
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CPU_CPUEMITTER_H
