//===- PaddingRows.cpp - Padding rows of tables ---------------------------===//

#include "compiler/Import/Initializers/PaddingRows.h"

#include "compiler/Support/Faults.h"
#include "compiler/Support/UserInput/Nearest.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace mpc;

/// An error that begins with "--padding-idx='table:3' ".
static InFlightDiagnostic error(StringRef table, int64_t row,
                                MLIRContext *context) {
  return emitError(UnknownLoc::get(context))
         << Fault::OptionConflict << "option 'padding-idx'='" << table << ":"
         << row << "' ";
}

LogicalResult PaddingRows::bind(const std::map<std::string, int64_t> &rows,
                                const onnx::GraphProto &graph,
                                MLIRContext *context) {
  for (const auto &[table, row] : rows) {
    auto found = llvm::find_if(graph.initializer(),
                               [&](const onnx::TensorProto &tensor) {
                                 return tensor.name() == table;
                               });
    if (found == graph.initializer().end()) {
      SmallVector<StringRef> names;
      for (const onnx::TensorProto &tensor : graph.initializer())
        names.push_back(tensor.name());
      return error(table, row, context) << "names no initializer of the model"
                                        << describeNearest(table, names);
    }
    int64_t extent = found->dims_size() > 0 ? found->dims(0) : 0;
    if (row < -extent || row >= extent)
      return error(table, row, context)
             << "is out of range: the table has " << extent << " rows";
    paddings.push_back({table, row, row < 0 ? row + extent : row});
  }
  return success();
}

std::optional<int64_t> PaddingRows::find(StringRef table) {
  for (Padding &padding : paddings)
    if (padding.table == table) {
      padding.isUsed = true;
      return padding.row;
    }
  return std::nullopt;
}

LogicalResult PaddingRows::checkUsed(MLIRContext *context) const {
  for (const Padding &padding : paddings)
    if (!padding.isUsed)
      return error(padding.table, padding.asked, context)
             << "has no effect: no Gather reads rows of this table along axis "
                "0, or the table is not floating-point";
  return success();
}
