//===- OpTable.h - Which ONNX ops become what -------------------*- C++ -*-===//
//
// To add an op: one row in the table of its family (compiler/Import/Ops) and
// one function beside it.
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

/// The opsets of domain "" that rows speak about.
constexpr int64_t kOldestOpset = 13, kNewestOpset = 28;

/// Inputs or outputs of an op that takes as many as there are.
inline constexpr unsigned kAnyNumber = 1u << 16;

/// The version of all domains but the default one: none has another yet.
constexpr int64_t kOtherVersion = 1;

/// How an ONNX op is imported from opset `since` on, until the next row of the
/// same op. Counts include optional inputs and outputs.
struct OpRow {
  llvm::StringLiteral op; ///< With its domain, if that is not the default one.
  int64_t since;
  unsigned minInputs, maxInputs, maxOutputs;
  /// Emits train ops and sets the node's outputs. Fails after a diagnostic.
  mlir::LogicalResult (*import)(ImportedNode &node);
  /// Computes the output, instead, where all inputs are constants
  /// (ImportedNode::constant); null for ops that are never computed at import.
  mlir::LogicalResult (*fold)(ImportedNode &node) = nullptr;
  /// Other ops take tensors alone.
  bool takesSequences = false;
  /// The first of the inputs that an op takes any number of: from there
  /// on none may be left out.
  unsigned firstVariadic = 0;
};

/// The row in force, null if there is none. `op` as in OpRow; `opset` is that
/// of the default domain.
const OpRow *findOp(llvm::StringRef op, int64_t opset);

/// Whether there is any op of this domain.
bool knowsDomain(llvm::StringRef domain);

/// Calls `visit` with the family and the first row of every op.
void forEachOp(
    llvm::function_ref<void(llvm::StringRef family, const OpRow &first)> visit);

/// The opset from which on `op` is known; 0 if it is not.
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
