//===- OpTable.cpp - Table of supported ONNX ops --------------------------===//

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
    {"Elementwise", elementwiseOps},
    {"Unary math", functionOps},
    {"Constants", constantOps},
    {"Shape and layout", shapeOps},
    {"By index", indexOps},
    {"Along a dimension", alongAxisOps},
    {"Resampling", resampleOps},
    {"Random numbers", randomOps},
    {"Sequences", sequenceOps},
    {"Control flow", controlOps},
    {"Reductions", reductionOps},
    {"Products", contractionOps},
    {"Convolutions", convolutionOps},
    {"Einsum", einsumOps},
    {"Images", imageOps},
    {"Pooling", poolingOps},
    {"Image regions", roiOps},
    {"Recurrent", recurrentOps},
    {"Signals", signalOps},
    {"Attention", attentionOps},
    {"Rotary embeddings", rotaryOps},
    {"Stateful attention", linearAttentionOps},
    {"Norms, softmax, dropout", normalizationOps},
    {"Losses", lossOps},
    {"Gradients", gradientOps},
    {"Updates", optimizerOps},
    {"ONNX Runtime activations", microsoftActivationOps},
    {"ONNX Runtime arithmetic", microsoftArithmeticOps},
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
