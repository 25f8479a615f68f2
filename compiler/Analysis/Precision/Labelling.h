//===- Labelling.h - Choice between f32 and 16 bit by a cut -----*- C++ -*-===//
//
// Chooses between f32 and 16 bit for every f32 tensor of a function so that the
// number of bytes moved is minimal among all choices that classes, pins,
// origins and user options allow. The solution is exact: a minimum cut with f32
// on the source side.
//
// Rounding begins at `low` ops: they read 16 bit and may store it. From there
// 16 bit spreads to the ops that read or write their tensors, but
//
// - f32 tensors are cast only for `low` ops; other ops read them as stored;
// - values computed from inputs stay f32 up to a `low` op or a result that its
//   op bounds; values computed only from parameters, and gradients of
//   parameters, stay f32 (Origins.h), as do values that are proven not to fit
//   in 16 bit (Analysis/Ranges.h);
// - nothing is rounded without a `low` op.
//
// Nodes of the cut: one per stored value, and one per use of a value by an op
// that may require another type than the stored one. Costs, in bytes:
//
// - each op writes its results and reads its operands at the label's width;
// - a value that some uses require in the other type is cast once, whatever the
//   number of such uses: it is read and written again. Weights and constants
//   exist in both types and need no cast;
// - each rounded tensor and each cast must save `minimumGain`.
//
// Among equally cheap choices, the one with the most f32 tensors is chosen.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_ANALYSIS_PRECISION_LABELLING_H
#define MPC_COMPILER_ANALYSIS_PRECISION_LABELLING_H

#include "compiler/Analysis/Precision/Origins.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/MinCut.h"
#include "compiler/Support/Precision/Formats.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>
#include <string>

namespace mpc {

/// The user's choice for an op, which overrides its class.
struct PrecisionOverride {
  std::optional<Format> format = {}; ///< Nothing if the user gave none.
  Rule rule = Rule::Option;
  std::string text = {}; ///< What the user wrote.

  bool is(FormatFacts::Use use) const {
    return format && factsOf(*format).use == use;
  }

  amp::Decision decision(mlir::MLIRContext *context) const {
    return {rule, {mlir::StringAttr::get(context, text)}};
  }
};

/// The costs of a choice other than bytes, with an error budget.
struct ErrorCosts {
  /// The error that is caused by rounding a value; errors add up.
  std::function<double(mlir::Value)> errorOf;
  double bytesPerError = 0;
  double bytesPerFlop = 0; ///< Extra cost of a product in f32.
};

class Labelling {
public:
  using OverrideFn = llvm::function_ref<PrecisionOverride(mlir::Operation *)>;

  /// Labels the f32 tensors of `func`; `low` is the 16-bit type. Tensors of
  /// other types are ignored: their label is f32, which means "unchanged".
  /// `minimumGain` is in bytes. With `errorCosts`, products have a choice, too.
  /// `errorCosts` and `ranges` (of this function) must outlive this object.
  Labelling(mlir::func::FuncOp func, const Ranges &ranges, mlir::FloatType low,
            int64_t minimumGain, OverrideFn overrideOf,
            const ErrorCosts *errorCosts = nullptr);

  /// The sum of the errors of all rounded values.
  double error() const;

  /// True if `value` is stored in 16 bit.
  bool isLow(mlir::Value value) const { return isLow(nodeOf(value)); }

  /// True if the op of `use` reads 16 bit.
  bool isLow(mlir::OpOperand &use) const { return isLow(nodeOf(use)); }

  /// Explains the types of `op`, which must have floats.
  amp::Decision explain(mlir::Operation *op) const;

  /// The format that the user gave `op`, if any.
  std::optional<Format> givenFormatOf(mlir::Operation *op) const {
    return overrides.find(op)->second.format;
  }

private:
  using Node = MinCut::Node;
  /// Labels that an explanation tries instead of the chosen ones.
  using Alternative = llvm::SmallDenseMap<Node, bool>;

  void addOp(mlir::Operation *op, const PrecisionOverride &override);
  void addClass(amp::PrecisionOpInterface op);
  void addTied(amp::PrecisionOpInterface op);
  void keepPinned(amp::PrecisionOpInterface op);
  void keepFromPoles(mlir::Operation *op);
  void readAsStored(mlir::OpOperand &use);
  void keepAwayFromProducts(mlir::Block &body);
  void addCosts(mlir::Operation *op);
  int64_t costOfError(mlir::Value value) const;
  int64_t costOfErrors(mlir::Operation *op) const;
  amp::Decision explainErrors(mlir::Operation *op) const;
  Node productNode(amp::PrecisionOpInterface op);
  void addCasts(mlir::Value value);

  bool staysWide(mlir::Value value) const;
  bool isFixed(amp::PrecisionOpInterface op, mlir::OpOperand &use) const;
  bool isFixed(amp::PrecisionOpInterface op, mlir::OpResult result) const;
  bool hasFixed(amp::PrecisionOpInterface op) const;
  Node nodeOf(mlir::Value value) const;
  Node nodeOf(mlir::OpOperand &use) const;
  bool isFree(Node node) const { return node != wide && node != narrow; }
  bool isLow(Node node) const { return !cut.isSource(node); }

  /// The cost of a choice: bytes moved, and the number of tensors that are
  /// rounded or cast.
  struct Cost {
    int64_t bytes = 0, conversions = 0;
  };
  Cost extraCost(mlir::Operation *op, const Alternative &alternative) const;
  Cost costOfValue(mlir::Value value, const Alternative &alternative) const;
  amp::Decision explainCost(mlir::Operation *op, Alternative other,
                            bool low) const;
  amp::Decision explainWide(mlir::Operation *op) const;

  Origins origins;
  const Ranges &ranges;
  mlir::FloatType lowType;
  int64_t minimumGain;
  const ErrorCosts *errorCosts;
  mlir::func::FuncOp func;
  MinCut cut;
  Node wide;   ///< Always f32.
  Node narrow; ///< Always 16 bit.
  llvm::DenseMap<mlir::Value, Node> stored;
  /// Uses that are not in the map read the value as stored.
  llvm::DenseMap<mlir::OpOperand *, Node> used;
  /// Nodes that no chain of tensors connects to a `low` op.
  llvm::DenseSet<Node> apart;
  /// Nodes of values that are read by pinned operands.
  llvm::DenseSet<Node> pinned;
  /// Nodes of values that are read by ops with a pole at 0.
  llvm::DenseSet<Node> poles;
  llvm::DenseMap<mlir::Operation *, PrecisionOverride> overrides;
};

} // namespace mpc

#endif // MPC_COMPILER_ANALYSIS_PRECISION_LABELLING_H
