//===- Emitter.h - Values and memory of one kernel --------------*- C++ -*-===//
//
// The device-independent part of kernel code: loads and stores (EmitMemory.cpp)
// and values computed on demand (EmitValues.cpp). Asking for a result of an op
// at a position emits the values that the op needs and then its body. How the
// positions are walked depends on the device: see CpuEmitter.h and
// GpuEmitter.h.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_EMITTER_H
#define MPC_PASSES_CODEGEN_EMITTER_H

#include "compiler/Analysis/KernelDomain.h"
#include "passes/Codegen/AccessOrder.h"
#include "passes/Codegen/BodyEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

namespace mpc {

/// The type an element has in memory: booleans are bytes.
mlir::Type storageType(mlir::Type type);
unsigned storageBytes(mlir::Type type);

/// Where values are computed: a row, and in it `lanes` columns from `column`
/// on.
struct Position {
  llvm::SmallVector<mlir::Value>
      row;             ///< Index of each outer and row dimension.
  mlir::Value column;  ///< First column; null without columns.
  unsigned lanes = 0;  ///< 0: one scalar for the row.
  mlir::Value mask;    ///< Lanes that exist; null if all do.
  unsigned vector = 0; ///< Columns: its index in the strip.
};

using NodeResult = std::pair<unsigned, unsigned>;

class Emitter {
public:
  virtual ~Emitter() = default;

  /// Proves, once the code is emitted, that each result that shares the memory
  /// of an operand (`sharedBuffers`) may do so; otherwise emits an error that
  /// names `pass`.
  mlir::LogicalResult
  verifySharedBuffers(llvm::ArrayRef<SharedBuffer> sharedBuffers,
                      llvm::StringRef pass);

protected:
  Emitter(mlir::func::FuncOp func, KernelDomain domain)
      : func(func), loc(func.getLoc()), builder(func.getContext()),
        domain(std::move(domain)) {}

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
  llvm::SmallVector<mlir::Value> delinearize(mlir::Value index, unsigned begin,
                                             unsigned end);
  void loop(mlir::Value begin, mlir::Value end,
            llvm::function_ref<void(mlir::Value)> body);

  mlir::Value indexValue(const KernelNode &node, unsigned dim,
                         const Position &at, mlir::Type type);
  LinearLanes indexLanes(const KernelNode &node, unsigned dim,
                         const Position &at);
  llvm::SmallVector<mlir::Value>
  body(const KernelNode &node, mlir::ValueRange inputs, const Position &at);
  mlir::Value inputValue(const KernelAccess &input, const Position &at);
  mlir::Value evaluate(NodeResult which, const Position &at);
  mlir::Value rowValue(NodeResult which, const Position &at);
  mlir::Value pickedColumn(const KernelNode &node, const Position &at);
  void newPosition() {
    made.clear();
    loaded.clear();
    accesses.beginPosition();
  }

  // Memory -------------------------------------------------------------------
  /// Alignment in bytes of the address of `lanes` contiguous elements.
  virtual unsigned alignmentOf(unsigned lanes, unsigned bytes) const = 0;

  mlir::Value dot(llvm::ArrayRef<mlir::Value> row,
                  llvm::ArrayRef<int64_t> strides, int64_t offset);
  mlir::Value rowPointer(const KernelAccess &access, const Position &at);
  mlir::Value gather(const KernelAccess &access, const Position &at,
                     mlir::Value pointer);
  virtual mlir::Value load(const KernelAccess &access, const Position &at);
  /// Prefetches the element of `access` that is `prefetchedRows` rows behind
  /// the one at `pointer`, if rows are far from each other.
  void prefetchRow(const KernelAccess &access, const Position &at,
                   mlir::Value pointer);
  mlir::Value loadComputed(const ComputedAccess &place, const Position &at);
  mlir::Value loadScalar(const KernelAccess &access, const Position &at);
  mlir::Value fromStorage(mlir::Type elementType, mlir::Value value);
  void store(const KernelAccess &access, const Position &at, mlir::Value value);
  void loadRowScalars(const Position &at);
  using Stores =
      llvm::SmallVector<std::pair<const KernelAccess *, mlir::Value>>;
  Stores makeOutputs(llvm::ArrayRef<unsigned> nodes, const Position &at);
  void storeOutputs(llvm::ArrayRef<unsigned> nodes, const Position &at);

  // Phases of a row ----------------------------------------------------------
  void findProducers();
  void findPhases();
  static bool isOncePerRow(const KernelNode &node) {
    return node.level == KernelLevel::Row ||
           (node.level == KernelLevel::Full &&
            node.reduction == KernelReduction::Columns);
  }
  /// Computes the scalars of the row that are available in phase `last`.
  void makeRowScalars(unsigned last, const Position &at);
  /// The row's contribution to a sum of scalars over the rows.
  mlir::Value addedByRow(const KernelNode &node, const Position &at);

  mlir::func::FuncOp func;
  mlir::Location loc;
  mlir::OpBuilder builder;
  KernelDomain domain;

  llvm::DenseMap<mlir::Value, unsigned> operandOf; ///< Memory root -> operand.
  llvm::DenseMap<mlir::Value, NodeResult> producers;
  llvm::SmallVector<mlir::Value> pointers; ///< Pointer to each operand.
  unsigned arguments = 0; ///< Number of operands that are not results.
  AccessOrder accesses;
  int64_t prefetchedRows = 0; ///< 0: rows are not prefetched.

  unsigned phases = 1;
  llvm::SmallVector<unsigned>
      phaseOf; ///< First phase in which each node can be computed.

  llvm::DenseMap<NodeResult, mlir::Value> made; ///< Values at this position.
  llvm::DenseMap<NodeResult, mlir::Value> rowScalars; ///< Values of this row.
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
};

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_EMITTER_H
