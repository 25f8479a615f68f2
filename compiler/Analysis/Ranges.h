//===- Ranges.h - What the values of a function can be ----------*- C++ -*-===//
//
// Intervals of all tensors, by what ops say of their results
// (RangeOpInterface), and what constants of the model bring in: a mask of -1e9
// that is added to scores of any size says nothing of their interval, but that
// they do not fit f16.
//
// Proven is what holds for all data and all weights. Of what is trained nothing
// is known, whatever it is at first, nor of statistics, which a checkpoint may
// bring. Constants of the model, and what is frozen, stay what they are.
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

/// What is known of one tensor.
struct TensorFacts {
  amp::NumberRange range;
  /// Bounds from the constants that it is computed from: the largest finite
  /// size, and the smallest but 0; 0 if there is none. No op in between has
  /// bounded either.
  double largest = 0, smallest = 0;
  /// There may be minus infinities, not because something overflowed: a
  /// constant brings them, or an input may.
  bool isMasked = false;

  /// True if `type` cannot hold all of it: a mask, an epsilon.
  bool exceeds(mlir::FloatType type) const;
  /// The size of a value that is too large for `type`, if there is one.
  std::optional<double> findTooLarge(mlir::FloatType type) const;

  static TensorFacts join(const TensorFacts &a, const TensorFacts &b);
  bool operator==(const TensorFacts &other) const;
  void print(llvm::raw_ostream &os) const { os << range.text(); }
};

/// What constants hold, each looked through once.
using ConstantFacts = llvm::DenseMap<mlir::Attribute, TensorFacts>;

TensorFacts factsOf(mlir::ElementsAttr elements, ConstantFacts &known);

class Ranges {
public:
  /// `constants` may serve several functions.
  Ranges(mlir::func::FuncOp func, ConstantFacts &constants);
  ~Ranges();

  const TensorFacts &of(mlir::Value value) const;

private:
  mlir::DataFlowSolver solver;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_RANGES_H
