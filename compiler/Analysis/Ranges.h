//===- Ranges.h - Ranges of the values of a function ------------*- C++ -*-===//
//
// Computes ranges of all tensors from what ops prove about their results
// (RangeOpInterface), and the influence of constants of the model: a mask of
// -1e9 that is added to scores of unknown size does not bound them, but shows
// that they do not fit in f16.
//
// A range is proven for all data and all weights. Nothing is known about
// trained weights, whatever their initial values are, nor about statistics,
// which a checkpoint may replace. Constants of the model and frozen weights
// never change.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_RANGES_H
#define MPC_COMPILER_ANALYSIS_RANGES_H

#include "compiler/Dialect/Amp/IR/NumberRange.h"

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mpc {

/// What is known about one tensor.
struct TensorFacts {
  amp::NumberRange range;
  /// The largest finite and the smallest nonzero magnitude among the constants
  /// that the tensor is computed from without an op in between that bounds
  /// them; 0 if there is none.
  double largest = 0, smallest = 0;
  /// There may be minus infinities without an overflow: from a constant, or
  /// from an input.
  bool isMasked = false;

  /// True if `type` cannot represent all elements, such as a mask or an
  /// epsilon.
  bool exceeds(mlir::FloatType type) const;
  /// The magnitude of a value that is too large for `type`, if there is one.
  std::optional<double> findTooLarge(mlir::FloatType type) const;

  static TensorFacts join(const TensorFacts &a, const TensorFacts &b);
  bool operator==(const TensorFacts &other) const;
  void print(llvm::raw_ostream &os) const { os << range.text(); }
};

/// Facts about constants, so that each is scanned only once.
using ConstantFacts = llvm::DenseMap<mlir::Attribute, TensorFacts>;

TensorFacts factsOf(mlir::ElementsAttr elements, ConstantFacts &known);

class Ranges {
public:
  /// `constants` is a cache that several functions may share.
  Ranges(mlir::func::FuncOp func, ConstantFacts &constants);
  ~Ranges();

  const TensorFacts &of(mlir::Value value) const;

private:
  mlir::DataFlowSolver solver;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_RANGES_H
