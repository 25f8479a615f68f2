//===- KernelDomain.h - How linalg ops share one loop nest ------*- C++ -*-===//
//
// A generated kernel computes several `linalg.generic` in one walk over a
// common iteration space of three zones:
//
//   outer x row x column
//
// Columns are vectorised; a row reduction sums over the columns of one row and
// is finished before the row's next phase; a column reduction sums over the
// rows of one outer position. Memory is seen as linear: each operand is an
// element offset plus one stride per dimension, so reshapes between the ops
// do not matter.
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

/// The value whose memory `value` is: views are looked through.
mlir::Value memoryRoot(mlir::Value value);

/// The tensors that the body of `op` reads at computed places.
llvm::SmallVector<mlir::Value> computedReads(mlir::linalg::GenericOp op);

/// All that `op` needs: its operands and its computed reads.
llvm::SmallVector<mlir::Value> valuesNeeded(mlir::Operation *op);

/// Where a generic reads or writes: element `offset + sum(strides * indices)`
/// of `root`, strides per dimension of the domain.
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

/// Which part of the domain an op walks.
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
  /// For each dimension of the op: how `linalg.index` of it moves with the
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
  /// No column needs what its row has to be walked for first: every element is
  /// read once.
  bool isOnePass() const;
};

/// Finds the domain that all `ops` (in program order) fit into, or says in
/// `reason` why there is none. One op that `mpc-split-reductions` left alone
/// always has one.
std::optional<KernelDomain>
analyzeKernel(llvm::ArrayRef<mlir::linalg::GenericOp> ops,
              std::string *reason = nullptr);

/// Where a kernel, a function of generics, continues in the memory of an
/// argument, as `train.concat` does piece by piece: the number of the argument
/// that result `result` continues.
std::optional<unsigned> continuedArgument(mlir::func::FuncOp kernel,
                                          unsigned result);

/// Returns true if `kernel` reads of `argument` the elements that it writes to
/// `result` and no others, each before it writes it: both may be one memory.
bool mayUpdateInPlace(mlir::func::FuncOp kernel, unsigned argument,
                      unsigned result);

/// Returns true if the reduction of `op` has the form that a kernel can walk:
/// one range of dimensions, contiguous for every operand.
bool hasSimpleReduction(mlir::linalg::GenericOp op);

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_KERNELDOMAIN_H
