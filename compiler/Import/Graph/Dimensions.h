//===- Dimensions.h - Sizes for symbolic dimensions -------------*- C++ -*-===//
//
// Internal to compiler/Import.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_IMPORT_GRAPH_DIMENSIONS_H
#define MPC_COMPILER_IMPORT_GRAPH_DIMENSIONS_H

#include "compiler/Import/File/ModelFile.h"
#include "compiler/Import/Import.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {

/// Gives every dimension of a model's inputs a size.
///
/// The batch dimension is axis 0 of the first input. An unbound symbol that
/// occurs only as axis 0 of other inputs is the batch, too: exporters give the
/// batch a different name for each input.
class Dimensions {
public:
  /// Assigns all sizes; adds a line to `notes` for each default. On failure
  /// sets `error` after diagnostics.
  mlir::LogicalResult bind(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs,
                           const ImportOptions &options,
                           mlir::MLIRContext *context, ModelError &error,
                           std::vector<std::string> &notes);

  /// The shape of an input of the graph.
  llvm::SmallVector<int64_t> shapeOf(const onnx::ValueInfoProto &input) const;

  /// The size of a symbol, 0 if it has none.
  int64_t sizeOf(llvm::StringRef symbol) const { return sizes.lookup(symbol); }

  /// Returns true if axis 0 of this input counts samples.
  bool isBatched(const onnx::ValueInfoProto &input) const;

  /// Returns true if axis 0 of an output with this declaration and extent
  /// counts samples.
  bool isBatchedOutput(const onnx::ValueInfoProto &output,
                       int64_t extent) const;

private:
  struct Symbol {
    std::string name, place; // "axis 1 of input 'x'"
    bool onlyFirstAxis = true;
  };

  mlir::LogicalResult
  collect(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs,
          mlir::MLIRContext *context);
  void addSymbol(llvm::StringRef name, llvm::StringRef input, int axis);
  mlir::LogicalResult applyOptions(const ImportOptions &options,
                                   mlir::MLIRContext *context);
  mlir::LogicalResult bindBatch(const ImportOptions &options,
                                mlir::MLIRContext *context,
                                std::vector<std::string> &notes);
  void bindFirstAxes(const ImportOptions &options, bool isGiven,
                     const std::string &first, std::vector<std::string> &notes);
  mlir::LogicalResult requireAll(mlir::MLIRContext *context);

  std::vector<Symbol> symbols;    // In order of appearance.
  llvm::StringMap<int64_t> sizes; // Sizes of bound symbols.
  llvm::StringSet<> batchSymbols;
  std::string firstInput;       // The first input with dimensions.
  bool batchIsSymbolic = false; // Axis 0 of the first input.
  int64_t batchSize = 0;        // 0 if no input has a dimension.
};

/// The inputs of the graph that are not initializers.
llvm::SmallVector<const onnx::ValueInfoProto *>
dataInputs(const onnx::GraphProto &graph);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_GRAPH_DIMENSIONS_H
