//===- models.h - One small model per op and variant ------------*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_MODELS_H
#define MPC_TEST_GRADIENTS_MODELS_H

#include "test/gradients/harness.h"

namespace mpc::test {

/// A model that computes a result from parameters.
struct Model {
  const char *name;       ///< family_variant
  const char *parameters; ///< See parseTensors.
  const char *nodes;      ///< Compute `y`; in ONNX's text syntax.
  /// Shape of `y`; the loss is the sum of the product of `y` and a random
  /// input. null: `y` is the loss.
  const char *result;
  Values labels = {};         ///< Input `labels`, if there are any.
  Shape labelShape = {};      ///< Its shape.
  const char *loss = nullptr; ///< `--loss`, of `y`; null: part of the model.
  double low = -1, high = 1;  ///< Range of the targets of that loss.
  int opset = 23;
  uint64_t seed = 1; ///< Seed of the first parameter's values; others follow.
};

const std::vector<Model> &models();
/// The models of models_by_index.cpp.
const std::vector<Model> &modelsByIndex();
/// The models of models_of_gradients.cpp.
const std::vector<Model> &modelsOfGradients();

/// The model as text.
std::string textOf(const Model &model);

/// Values for the inputs of its training step, in order.
std::vector<Values> inputsOf(const Model &model);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_MODELS_H
