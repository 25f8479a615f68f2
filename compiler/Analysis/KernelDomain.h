//===- KernelDomain.h - Shared loop nest of linalg ops ----------*- C++ -*-===//
//
// A generated kernel computes several `linalg.generic` ops in one walk over a
// common iteration space with three zones:
//
//   outer x row x column
//
// Columns are vectorised; a row reduction sums over the columns of one row and
// is finished before the row's next phase; a column reduction sums over the
// rows of one outer position. Memory is treated as linear: each operand is an
// element offset plus one stride per dimension, so reshapes between the ops
// have no effect.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_KERNELDOMAIN_H
#define MPC_COMPILER_ANALYSIS_KERNELDOMAIN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>
#include <string>
#include <vector>

namespace mpc {

/// Looks through views: returns the value whose memory `value` is.
mlir::Value memoryRoot(mlir::Value value);

/// The tensors that the body of `op` reads at computed places.
llvm::SmallVector<mlir::Value> computedReads(mlir::linalg::GenericOp op);

/// All values that `op` needs: its operands and its computed reads.
llvm::SmallVector<mlir::Value> valuesNeeded(mlir::Operation *op);

/// An access of a generic: it reads or writes element
/// `offset + sum(strides * indices)` of `root`, with one stride per dimension
/// of the domain.
struct KernelAccess {
  mlir::Value root;
  mlir::Type elementType;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides;

  bool sameElement(const KernelAccess &other) const {
    return root == other.root && offset == other.offset &&
           strides == other.strides;
  }
};

/// The part of the domain that an op walks.
enum class KernelLevel {
  Full,   ///< outer x row x column.
  Row,    ///< outer x row: one scalar per row.
  Column, ///< outer x column: after the rows.
  Outer,  ///< outer: after the rows, one scalar.
};

enum class KernelReduction { None, Columns, Rows };

struct KernelNode {
  mlir::linalg::GenericOp op;
  KernelLevel level = KernelLevel::Full;
  KernelReduction reduction = KernelReduction::None;
  llvm::SmallVector<KernelAccess> inputs;
  llvm::SmallVector<KernelAccess> outputs;
  /// The memory that the body reads at computed places.
  llvm::SmallVector<mlir::Value> reads;
  /// For each dimension of the op, the strides of its `linalg.index` over the
  /// dimensions of the domain.
  llvm::SmallVector<llvm::SmallVector<int64_t>> indices;
};

struct KernelDomain {
  llvm::SmallVector<int64_t> sizes; ///< Sizes of the remaining dimensions.
  unsigned rowBegin = 0;            ///< First dimension of the row zone.
  unsigned columnBegin = 0;         ///< First of the column zone: one or none.
  std::vector<KernelNode> nodes;

  int64_t outer() const;
  int64_t rows() const; ///< Rows at one outer position.
  int64_t columns() const;
  bool hasColumnReduction() const; ///< Sums over columns (one row at a time).
  bool hasRowReduction() const;    ///< Sums over rows.
  /// No op on columns needs a result of a previous pass over its row, so every
  /// element is read once.
  bool isOnePass() const;
};

/// Finds the domain that all `ops` (in program order) fit into, or sets
/// `reason` to why there is none. A single op always has one after
/// `mpc-split-reductions`.
std::optional<KernelDomain>
analyzeKernel(llvm::ArrayRef<mlir::linalg::GenericOp> ops,
              std::string *reason = nullptr);

/// If a kernel (a function of generics) writes result `result` into the memory
/// of an argument, as `train.concat` does piece by piece, returns the number of
/// that argument.
std::optional<unsigned> continuedArgument(mlir::func::FuncOp kernel,
                                          unsigned result);

/// Returns true if `kernel` reads only those elements of `argument` that it
/// writes to `result`, each before it writes it, so that both may share memory.
bool mayUpdateInPlace(mlir::func::FuncOp kernel, unsigned argument,
                      unsigned result);

/// Returns true if the reduction of `op` has the form that a kernel can walk:
/// one range of dimensions, contiguous for every operand.
bool hasSimpleReduction(mlir::linalg::GenericOp op);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_KERNELDOMAIN_H
