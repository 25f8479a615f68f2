//===- Dataflow.h - What instructions compute, apart from where -*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_DATAFLOW_H
#define MPC_PASSES_PLAN_DATAFLOW_H

#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace mpc {

/// Counts the tensors of a function, so that a plan of it can be proven from
/// what it says and not from how it was made (MemoryProof.h). Knows which
/// tensors are views of others, and nothing of memory.
class Dataflow {
public:
  explicit Dataflow(mlir::func::FuncOp func);

  /// The tensor that `value` is or shows, and from which byte on.
  exec::ValueAttr valueOf(mlir::Value value) const;

  /// The same as an attribute of an entry.
  exec::DataflowAttr describe() const;

private:
  exec::ValueAttr valueAt(int64_t number, int64_t offset) const;
  mlir::ArrayAttr describeParts() const;

  mutable mlir::func::FuncOp func; ///< A handle, which reads as mutable.
  llvm::DenseMap<mlir::Value, int64_t>
      numbers; ///< Numbers of values that are not views.
  llvm::MapVector<llvm::StringRef, int64_t> reads;
};

} // namespace mpc

#endif // MPC_PASSES_PLAN_DATAFLOW_H
