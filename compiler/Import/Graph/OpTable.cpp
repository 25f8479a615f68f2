//===- OpTable.cpp - Which ONNX ops become what ---------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mpc;

namespace {

struct Family {
  llvm::StringLiteral name;
  llvm::ArrayRef<OpRow> (*rows)();
};

} // namespace

static constexpr Family kFamilies[] = {
    {"Element by element", elementwiseOps},
    {"Functions of one number", functionOps},
    {"Constants", constantOps},
    {"Shape and order", shapeOps},
    {"By index", indexOps},
    {"Along a dimension", alongAxisOps},
    {"Resampling", resampleOps},
    {"Random numbers", randomOps},
    {"Sequences", sequenceOps},
    {"Control flow", controlOps},
    {"Reductions", reductionOps},
    {"Products", contractionOps},
    {"Convolutions", convolutionOps},
    {"Sums of products", einsumOps},
    {"Images", imageOps},
    {"Pooling", poolingOps},
    {"Regions of images", roiOps},
    {"Recurrent", recurrentOps},
    {"Signals", signalOps},
    {"Attention", attentionOps},
    {"Positions that turn", rotaryOps},
    {"Attention with a state", linearAttentionOps},
    {"Norms, softmax, dropout", normalizationOps},
    {"Losses", lossOps},
    {"Gradients", gradientOps},
    {"Updates", optimizerOps},
    {"Functions of ONNX Runtime", microsoftActivationOps},
    {"Arithmetic of ONNX Runtime", microsoftArithmeticOps},
};

/// Rows by op, in ascending order of `since`.
static const llvm::StringMap<llvm::SmallVector<const OpRow *, 2>> &table() {
  static const auto rows = [] {
    llvm::StringMap<llvm::SmallVector<const OpRow *, 2>> result;
    for (const Family &family : kFamilies)
      for (const OpRow &row : family.rows()) {
        auto &entries = result[row.op];
        assert((entries.empty() || entries.back()->since < row.since) &&
               "rows of an op stand in ascending order");
        entries.push_back(&row);
      }
    return result;
  }();
  return rows;
}

void mpc::forEachOp(
    llvm::function_ref<void(llvm::StringRef, const OpRow &)> visit) {
  for (const Family &family : kFamilies) {
    llvm::StringSet<> seen;
    for (const OpRow &row : family.rows())
      if (seen.insert(row.op).second)
        visit(family.name, row);
  }
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

bool mpc::knowsDomain(llvm::StringRef domain) {
  return llvm::any_of(table().keys(), [&](llvm::StringRef op) {
    return op.rsplit('.').first == domain && op.contains('.');
  });
}

int64_t mpc::firstOpset(llvm::StringRef op) {
  auto entry = table().find(op);
  return entry == table().end() ? 0 : entry->second.front()->since;
}
