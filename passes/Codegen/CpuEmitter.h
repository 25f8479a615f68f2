//===- CpuEmitter.h - The walk of one kernel on a CPU -----------*- C++ -*-===//
//
// Loops over vectors: whole walks (CpuEmitter.cpp), rows and their phases
// (CpuRows.cpp). What a later phase of a row needs again is made again, unless
// it is expensive: then it waits in a buffer on the stack.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CPUEMITTER_H
#define MPC_PASSES_CODEGEN_CPUEMITTER_H

#include "compiler/Analysis/KernelSchedule.h"
#include "passes/Codegen/Emitter.h"

namespace mpc {

class CpuEmitter : public Emitter {
public:
  CpuEmitter(mlir::func::FuncOp func, KernelDomain domain)
      : Emitter(func, std::move(domain)),
        schedule(scheduleKernel(this->domain)) {}

  void run();

private:
  /// Operands lie anywhere: unaligned accesses cost nothing here.
  unsigned alignmentOf(unsigned, unsigned bytes) const override {
    return bytes;
  }

  void emitFlat();
  void emitRows();
  void emitColumns();
  void emitStrip(llvm::ArrayRef<mlir::Value> outer, mlir::Value first,
                 int64_t vectors, unsigned tail);
  void emitOuter();
  void emitRow(Position at);
  void emitPhase(unsigned phase, Position at);
  void prefetchNextRow(const Position &at, unsigned which, unsigned turn);
  void vectors(int64_t count, Position at, unsigned unroll,
               llvm::SmallVectorImpl<mlir::Value> &carried,
               llvm::function_ref<void(const Position &, unsigned)> body);

  bool isExpensive(const KernelNode &node) const;
  void findKept();
  mlir::Value stackBuffer(mlir::Type element, int64_t count);

  KernelSchedule schedule;
  mlir::Block *entry = nullptr;
  llvm::SmallVector<unsigned> keptIn; ///< Phase that keeps it, or ~0.
  llvm::DenseMap<unsigned, mlir::Value>
      keptBuffers; ///< Node -> buffer of one row.
  llvm::DenseMap<unsigned, mlir::Value>
      sumBuffers; ///< Node -> memory of its sums.
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CPUEMITTER_H
