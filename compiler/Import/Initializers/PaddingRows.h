//===- PaddingRows.h - Padding rows of tables -------------------*- C++ -*-===//
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

/// The values of `--padding-idx`, and which of the tables are used in lookups.
class PaddingRows {
public:
  /// Converts row numbers to count from the front. Fails after a diagnostic if
  /// the graph does not have such an initializer, or the initializer such a
  /// row.
  mlir::LogicalResult bind(const std::map<std::string, int64_t> &rows,
                           const onnx::GraphProto &graph,
                           mlir::MLIRContext *context);
  /// The padding row of a table in which a node looks up rows; marks it as
  /// used.
  std::optional<int64_t> find(llvm::StringRef table);
  /// Fails after a diagnostic if a table was not used in a lookup.
  mlir::LogicalResult checkUsed(mlir::MLIRContext *context) const;

private:
  struct Padding {
    std::string table;
    int64_t asked, row; ///< As given by the user, and counted from the front.
    bool isUsed = false;
  };
  std::vector<Padding> paddings;
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_INITIALIZERS_PADDINGROWS_H
