//===- Emitter.h - The walk of one kernel -----------------------*- C++ -*-===//
//
// Shared by the files that emit a kernel: memory (EmitMemory.cpp), values
// (EmitValues.cpp), rows and their phases (EmitRows.cpp), and whole walks
// (KernelEmitter.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_EMITTER_H
#define MPC_PASSES_CODEGEN_EMITTER_H

#include "compiler/Analysis/KernelSchedule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace mpc {

/// The type an element has in memory: booleans are bytes.
mlir::Type storageType(mlir::Type type);
unsigned storageBytes(mlir::Type type);

/// Where values are made: a row, and in it `lanes` columns from `column` on.
struct Position {
  llvm::SmallVector<mlir::Value>
      row;            ///< Index of each outer and row dimension.
  mlir::Value column; ///< First column; null without columns.
  unsigned lanes = 0; ///< 0: one scalar, of the row.
  mlir::Value mask;   ///< Lanes that exist; null if all do.
};

using NodeResult = std::pair<unsigned, unsigned>;

class Emitter {
public:
  Emitter(mlir::func::FuncOp func, KernelDomain domain)
      : func(func), loc(func.getLoc()), builder(func.getContext()),
        domain(std::move(domain)), schedule(scheduleKernel(this->domain)) {}

  void run();

private:
  // Values -------------------------------------------------------------------
  mlir::Value i64(int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getI64IntegerAttr(value));
  }
  mlir::Value add(mlir::Value lhs, mlir::Value rhs) {
    return mlir::arith::AddIOp::create(builder, loc, lhs, rhs);
  }
  mlir::Value scaled(mlir::Value index, int64_t stride) {
    return stride == 1
               ? index
               : mlir::arith::MulIOp::create(builder, loc, index, i64(stride))
                     .getResult();
  }
  bool hasColumns() const { return domain.columnBegin < domain.sizes.size(); }
  int64_t columnStride(llvm::ArrayRef<int64_t> strides) const {
    return hasColumns() ? strides.back() : 0;
  }
  int producerOf(mlir::Value root) const {
    auto found = producers.find(root);
    return found == producers.end() ? -1 : int(found->second.first);
  }

  mlir::Value dot(llvm::ArrayRef<mlir::Value> row,
                  llvm::ArrayRef<int64_t> strides, int64_t offset);
  mlir::Value rowPointer(const KernelAccess &access, const Position &at);
  mlir::Value load(const KernelAccess &access, const Position &at);
  void prefetchNextRow(const Position &at, unsigned which, unsigned turn);
  void store(const KernelAccess &access, const Position &at, mlir::Value value);
  mlir::Value gather(const KernelAccess &access, const Position &at,
                     mlir::Value pointer);
  mlir::Value indexValue(const KernelNode &node, unsigned dim,
                         const Position &at, mlir::Type type);
  llvm::SmallVector<mlir::Value>
  body(const KernelNode &node, mlir::ValueRange inputs, const Position &at);
  mlir::Value inputValue(const KernelAccess &input, const Position &at);
  mlir::Value evaluate(NodeResult which, const Position &at);
  mlir::Value rowValue(NodeResult which, const Position &at);

  // Walks --------------------------------------------------------------------
  void findPhases();
  bool isExpensive(const KernelNode &node) const;
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value index, unsigned begin,
                                             unsigned end);
  void loop(mlir::Value begin, mlir::Value end,
            llvm::function_ref<void(mlir::Value)> body);
  void emitFlat();
  void emitRows();
  void emitColumns();
  void emitStrip(llvm::ArrayRef<mlir::Value> outer, mlir::Value first,
                 int64_t vectors, unsigned tail);
  void emitOuter();
  void emitRow(Position at);
  void loadRowScalars(const Position &at);
  void emitPhase(unsigned phase, Position at);
  mlir::Value pickedColumn(const KernelNode &node, const Position &at);
  void vectors(int64_t count, Position at, unsigned unroll,
               llvm::SmallVectorImpl<mlir::Value> &carried,
               llvm::function_ref<void(const Position &, unsigned)> body);
  void storeOutputs(llvm::ArrayRef<unsigned> nodes, const Position &at);
  mlir::Value stackBuffer(mlir::Type element, int64_t count);
  void newPosition() {
    made.clear();
    loaded.clear();
  }

  mlir::func::FuncOp func;
  mlir::Location loc;
  mlir::OpBuilder builder;
  KernelDomain domain;
  KernelSchedule schedule;

  llvm::DenseMap<mlir::Value, unsigned> operandOf; ///< Memory root -> operand.
  llvm::DenseMap<mlir::Value, NodeResult> producers;
  llvm::SmallVector<mlir::Value> pointers; ///< Of each operand.
  mlir::Block *entry = nullptr;

  unsigned phases = 1;
  llvm::SmallVector<unsigned> phaseOf; ///< Of each node: when it can be made.
  llvm::SmallVector<unsigned> keptIn;  ///< Phase that keeps it, or ~0.
  llvm::DenseMap<unsigned, mlir::Value>
      keptBuffers; ///< Node -> buffer of one row.

  llvm::DenseMap<NodeResult, mlir::Value> made;       ///< At this position.
  llvm::DenseMap<NodeResult, mlir::Value> rowScalars; ///< In this row.
  using AccessKey = std::pair<void *, llvm::SmallVector<int64_t>>;
  static AccessKey keyOf(const KernelAccess &access) {
    AccessKey key{access.root.getAsOpaquePointer(), access.strides};
    key.second.push_back(access.offset);
    return key;
  }
  std::map<AccessKey, mlir::Value> rowLoads; ///< Scalars of this row.
  std::map<AccessKey, mlir::Value> loaded;   ///< Vectors of this position.
  llvm::DenseMap<unsigned, mlir::Value>
      columnSums; ///< Node -> values at this position.
  llvm::DenseMap<unsigned, mlir::Value>
      sumBuffers; ///< Node -> memory of its sums.
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_EMITTER_H
