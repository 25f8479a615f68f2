//===- PaddingRows.h - Rows of tables that lookups do not train -*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_INITIALIZERS_PADDINGROWS_H
#define MPC_COMPILER_IMPORT_INITIALIZERS_PADDINGROWS_H

#include "compiler/Import/File/ModelFile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <optional>
#include <string>

namespace mpc {

/// What `--padding-idx` was given, and which tables nodes look up rows of.
class PaddingRows {
public:
  /// Counts rows from the front. Fails after a diagnostic if the graph has no
  /// such initializer, or it no such row.
  mlir::LogicalResult bind(const std::map<std::string, int64_t> &rows,
                           const onnx::GraphProto &graph,
                           mlir::MLIRContext *context);
  /// The row of a table that a node looks rows up in.
  std::optional<int64_t> find(llvm::StringRef table);
  /// Fails after a diagnostic if nobody asked for one of the tables.
  mlir::LogicalResult checkUsed(mlir::MLIRContext *context) const;

private:
  struct Padding {
    std::string table;
    int64_t asked, row; ///< As the user counts, and from the front.
    bool isUsed = false;
  };
  std::vector<Padding> paddings;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_PADDINGROWS_H
