//===- OpTable.h - Table of supported ONNX ops ------------------*- C++ -*-===//
//
// To add an op: add one row to the table of its family (compiler/Import/Ops)
// and one function beside it.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_OPTABLE_H
#define MPC_COMPILER_IMPORT_GRAPH_OPTABLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mpc {

class ImportedNode;

/// The opsets of domain "" that rows cover.
constexpr int64_t kOldestOpset = 13, kNewestOpset = 28;

/// The number of inputs or outputs of a variadic op.
inline constexpr unsigned kAnyNumber = 1u << 16;

/// The version of all domains except the default one; none has another yet.
constexpr int64_t kOtherVersion = 1;

/// How an ONNX op is imported from opset `since` on, until the next row of the
/// same op. Counts include optional inputs and outputs.
struct OpRow {
  llvm::StringLiteral op; ///< Includes the domain if it is not the default one.
  int64_t since;
  unsigned minInputs, maxInputs, maxOutputs;
  /// Emits train ops and sets the node's outputs. Fails after a diagnostic.
  mlir::LogicalResult (*import)(ImportedNode &node);
  /// Computes the output at import if all inputs are constants
  /// (ImportedNode::constant); null for ops without constant folding.
  mlir::LogicalResult (*fold)(ImportedNode &node) = nullptr;
  /// Elements of the output depend on those at their place in the inputs, which
  /// broadcast. `fold` may then get slices of the inputs.
  bool isElementwise = false;
  /// Other ops only accept tensors.
  bool takesSequences = false;
  /// The first variadic input: from there on, none may be omitted.
  unsigned firstVariadic = 0;
};

/// The row that applies, null if there is none. `op` is as in OpRow; `opset` is
/// that of the default domain.
const OpRow *findOp(llvm::StringRef op, int64_t opset);

/// Returns true if some op of this domain is supported.
bool knowsDomain(llvm::StringRef domain);

/// Calls `visit` with the family and the first row of every op.
void forEachOp(
    llvm::function_ref<void(llvm::StringRef family, const OpRow &first)> visit);

/// The first opset for which `op` is supported; 0 if it is not.
int64_t firstOpset(llvm::StringRef op);

// The families.
llvm::ArrayRef<OpRow> elementwiseOps();
llvm::ArrayRef<OpRow> functionOps();
llvm::ArrayRef<OpRow> constantOps();
llvm::ArrayRef<OpRow> shapeOps();
llvm::ArrayRef<OpRow> indexOps();
llvm::ArrayRef<OpRow> alongAxisOps();
llvm::ArrayRef<OpRow> resampleOps();
llvm::ArrayRef<OpRow> randomOps();
llvm::ArrayRef<OpRow> sequenceOps();
llvm::ArrayRef<OpRow> reductionOps();
llvm::ArrayRef<OpRow> contractionOps();
llvm::ArrayRef<OpRow> controlOps();
llvm::ArrayRef<OpRow> convolutionOps();
llvm::ArrayRef<OpRow> einsumOps();
llvm::ArrayRef<OpRow> imageOps();
llvm::ArrayRef<OpRow> recurrentOps();
llvm::ArrayRef<OpRow> signalOps();
llvm::ArrayRef<OpRow> attentionOps();
llvm::ArrayRef<OpRow> linearAttentionOps();
llvm::ArrayRef<OpRow> roiOps();
llvm::ArrayRef<OpRow> rotaryOps();
llvm::ArrayRef<OpRow> poolingOps();
llvm::ArrayRef<OpRow> normalizationOps();
llvm::ArrayRef<OpRow> lossOps();
llvm::ArrayRef<OpRow> gradientOps();
llvm::ArrayRef<OpRow> optimizerOps();
llvm::ArrayRef<OpRow> microsoftActivationOps();
llvm::ArrayRef<OpRow> microsoftArithmeticOps();

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_OPTABLE_H
