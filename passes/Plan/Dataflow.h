//===- Dataflow.h - Dataflow of a function apart from memory ----*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_DATAFLOW_H
#define MPC_PASSES_PLAN_DATAFLOW_H

#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

namespace mpc {

/// Numbers the tensors of a function, so that its plan can be verified
/// independently of how it was made (MemoryProof.h). Knows which tensors are
/// views of others, and nothing about memory.
class Dataflow {
public:
  explicit Dataflow(mlir::func::FuncOp func);

  /// The tensor that `value` is or views, and the byte offset in it.
  exec::ValueAttr valueOf(mlir::Value value) const;

  /// The same as an attribute of an entry.
  exec::DataflowAttr describe() const;

private:
  exec::ValueAttr valueAt(int64_t number, int64_t offset) const;
  mlir::ArrayAttr describeParts() const;

  mutable mlir::func::FuncOp func; ///< A handle; its accessors are not const.
  llvm::DenseMap<mlir::Value, int64_t>
      numbers; ///< Numbers of values that are not views.
  llvm::MapVector<llvm::StringRef, int64_t> reads;
};

} // namespace mpc

#endif // MPC_PASSES_PLAN_DATAFLOW_H
