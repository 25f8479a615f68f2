//===- NormalizeModel.h - Old and unusual forms of a model ------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_NORMALIZEMODEL_H
#define MPC_COMPILER_IMPORT_NORMALIZEMODEL_H

#include "compiler/Import/ModelFile.h"

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
/// write so.
std::vector<std::string> liftWeights(onnx::ModelProto &model);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_NORMALIZEMODEL_H
