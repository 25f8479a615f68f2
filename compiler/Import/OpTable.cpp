//===- OpTable.cpp - Which ONNX ops become what ---------------------------===//

#include "compiler/Import/OpTable.h"

#include "llvm/ADT/StringMap.h"

using namespace mpc;

/// Rows by op, in ascending order of `since`.
static const llvm::StringMap<llvm::SmallVector<const OpRow *, 2>> &table() {
  static const auto rows = [] {
    llvm::StringMap<llvm::SmallVector<const OpRow *, 2>> result;
    for (auto family : {elementwiseOps(), functionOps(),      constantOps(),
                        shapeOps(),       indexOps(),         alongAxisOps(),
                        resampleOps(),    randomOps(),        sequenceOps(),
                        reductionOps(),   contractionOps(),   controlOps(),
                        convolutionOps(), einsumOps(),        imageOps(),
                        recurrentOps(),   signalOps(),        attentionOps(),
                        poolingOps(),     normalizationOps(), lossOps()})
      for (const OpRow &row : family) {
        auto &entries = result[row.op];
        assert((entries.empty() || entries.back()->since < row.since) &&
               "rows of an op stand in ascending order");
        entries.push_back(&row);
      }
    return result;
  }();
  return rows;
}

const OpRow *mpc::findOp(llvm::StringRef op, int64_t opset) {
  const OpRow *found = nullptr;
  auto entry = table().find(op);
  if (entry != table().end())
    for (const OpRow *row : entry->second)
      if (row->since <= opset)
        found = row;
  return found;
}

int64_t mpc::firstOpset(llvm::StringRef op) {
  auto entry = table().find(op);
  return entry == table().end() ? 0 : entry->second.front()->since;
}
