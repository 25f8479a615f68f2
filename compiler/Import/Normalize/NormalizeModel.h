//===- NormalizeModel.h - Old and unusual forms of a model ------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZE_NORMALIZEMODEL_H
#define MPC_COMPILER_IMPORT_NORMALIZE_NORMALIZEMODEL_H

#include "compiler/Import/File/ModelFile.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mpc {

/// The oldest opset that upgradeOpset converts.
constexpr int64_t kOldestUpgraded = 9;

/// Rewrites the ops of a model of opset 9 to 12 to those of opset 13:
/// attributes that are lists become inputs, Upsample becomes Resize, Scatter
/// becomes ScatterElements, and a softmax over several dimensions becomes one
/// over the flattened dimension. Does not change other models.
void upgradeOpset(onnx::ModelProto &model);

/// Some exporters write weights as Constant and ConstantOfShape nodes. If such
/// nodes provide more weights (of convolutions, products, norms and tables)
/// than there are float initializers, turns them into initializers. Returns
/// their names. A ConstantOfShape node stays if the new initializers would
/// exceed `mostBytes` in total: the size of a protobuf message is limited.
std::vector<std::string> liftWeights(onnx::ModelProto &model,
                                     int64_t mostBytes = (int64_t(1) << 31) -
                                                         (1 << 20));

/// PyTorch's exporter stores a parameter a second time if a layer reads it
/// transposed, such as the head of a language model that is tied to its token
/// table. Such an initializer has the elements of a parameter but is not one by
/// the file's signature. Replaces these initializers with nodes that read the
/// parameter, except those for which `isApart` holds. Returns the pairs,
/// "'val_7' with 'head.weight'".
std::vector<std::string>
restoreTiedWeights(const std::shared_ptr<ModelFile> &model,
                   llvm::function_ref<bool(llvm::StringRef)> isApart);

/// The suffix of the initializers that deduplicateRepeatedWeights creates.
constexpr llvm::StringLiteral kUntiledSuffix = ".one";

/// PyTorch's exporter also stores a parameter of one sample once per sample of
/// the batch (`cls_token.expand(4, -1, -1)`), and a row of a table once per
/// token that reads it. If parameters are missing, replaces an initializer `x`
/// whose parts along its leading dimensions are equal with one part, `x.one`,
/// and an Expand, unless `isApart` holds. Returns the names in quotes.
std::vector<std::string>
deduplicateRepeatedWeights(const std::shared_ptr<ModelFile> &model,
                           llvm::function_ref<bool(llvm::StringRef)> isApart);

/// Makes values that nodes compute further outputs of the graph. Reports a name
/// that no node computes.
mlir::LogicalResult addOutputs(onnx::GraphProto &graph,
                               llvm::ArrayRef<std::string> names,
                               mlir::MLIRContext *context);

/// Removes the elements with these names: initializers that nodes replace, and
/// inputs, since older files have an input for each initializer.
template <typename Element>
void eraseNamed(google::protobuf::RepeatedPtrField<Element> &list,
                const llvm::StringSet<> &names) {
  auto end = std::remove_if(list.begin(), list.end(), [&](const Element &e) {
    return names.contains(e.name());
  });
  list.erase(end, list.end());
}

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NORMALIZE_NORMALIZEMODEL_H
