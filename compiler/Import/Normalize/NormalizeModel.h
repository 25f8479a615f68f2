//===- NormalizeModel.h - Old and unusual forms of a model ------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZE_NORMALIZEMODEL_H
#define MPC_COMPILER_IMPORT_NORMALIZE_NORMALIZEMODEL_H

#include "compiler/Import/File/ModelFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mpc {

/// The oldest opset that upgradeOpset converts.
constexpr int64_t kOldestUpgraded = 9;

/// Rewrites the ops of a model of opset 9 to 12 to those of opset 13: lists
/// that were attributes become inputs, Upsample a Resize, Scatter a
/// ScatterElements, and a softmax over several dimensions one over their
/// product. Does nothing to other models.
void upgradeOpset(onnx::ModelProto &model);

/// In a model where Constant and ConstantOfShape nodes give more weights - of
/// convolutions, products, norms and tables - than there are initializers of
/// floats, makes initializers of these. Returns their names. Some exporters
/// write so. Those that shapes alone give stay nodes where all together would
/// have more than `mostBytes`: no message of protobuf may have more.
std::vector<std::string> liftWeights(onnx::ModelProto &model,
                                     int64_t mostBytes = (int64_t(1) << 31) -
                                                         (1 << 20));

/// PyTorch's exporter stores a parameter again where a layer takes it
/// transposed: the head of a language model, which is its table of tokens. Of
/// such initializers, which have the elements of a parameter and are none by
/// the file's signature, this makes nodes again, but of those for which
/// `isApart` holds. Returns the pairs, "'val_7' with 'head.weight'".
std::vector<std::string>
tieCopies(const std::shared_ptr<ModelFile> &model,
          llvm::function_ref<bool(llvm::StringRef)> isApart);

/// Ends the names of what untileWeights makes.
constexpr llvm::StringLiteral kOnePart = ".one";

/// It also stores a parameter of one sample as often as the batch has samples
/// (`cls_token.expand(4, -1, -1)`), and a row of a table as often as tokens
/// read it. Where parameters are missing, an initializer `x` of parts that are
/// equal along its leading dimensions becomes one part, `x.one`, and an Expand,
/// but where `isApart` holds. Returns the names in quotes.
std::vector<std::string>
untileWeights(const std::shared_ptr<ModelFile> &model,
              llvm::function_ref<bool(llvm::StringRef)> isApart);

/// Takes those of these names away: of initializers that nodes make now, and of
/// inputs; older files have one for each initializer.
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
