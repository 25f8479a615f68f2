//===- samples.cpp - Ops with and without samples -------------------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

Sample SampledOp::sample(int number) const {
  SampleBuilder builder(op, number);
  draw(builder);
  return builder.finish();
}

const std::vector<SampledOp> &sampledOps() {
  static const std::vector<SampledOp> all = [] {
    std::vector<SampledOp> result;
    for (auto *family :
         {elementwiseSamples, functionSamples, shapeSamples, indexSamples,
          controlSamples, windowSamples, imageSamples, sumSamples,
          normalizationSamples, recurrentSamples, attentionSamples})
      for (SampledOp &op : family())
        result.push_back(std::move(op));
    return result;
  }();
  return all;
}

const std::vector<UnsampledOp> &unsampledOps() {
  static const char *const isBool = "gives bools",
                           *const isInteger = "gives integers",
                           *const isConstant = "is computed at import",
                           *const isRandom = "gives numbers of no input",
                           *const isUpdate = "is what gradients are for";
  static const std::vector<UnsampledOp> ops = {
      {"Equal", isBool},
      {"Greater", isBool},
      {"GreaterOrEqual", isBool},
      {"Less", isBool},
      {"LessOrEqual", isBool},
      {"And", isBool},
      {"Or", isBool},
      {"Xor", isBool},
      {"Not", isBool},
      {"IsNaN", isBool},
      {"IsInf", isBool},
      {"ArgMax", isInteger},
      {"ArgMin", isInteger},
      {"Hardmax", "gives zeros and ones"},
      {"Constant", isConstant},
      {"ConstantOfShape", isConstant},
      {"Range", isConstant},
      {"Size", isConstant},
      {"Shape", isConstant},
      {"EyeLike", isConstant},
      {"NonZero", isConstant},
      {"HannWindow", isConstant},
      {"HammingWindow", isConstant},
      {"BlackmanWindow", isConstant},
      {"SequenceEmpty", isConstant},
      {"SequenceLength", isConstant},
      {"RandomNormal", isRandom},
      {"RandomNormalLike", isRandom},
      {"RandomUniform", isRandom},
      {"RandomUniformLike", isRandom},
      {"Bernoulli", "gives zeros and ones"},
      {"SimplifiedLayerNormalization", "is RMSNormalization"},
      {"MaxPoolGrad", "is in test/onnx/microsoft_ops.py"},
      {"AveragePoolGrad", "is in test/onnx/microsoft_ops.py"},
      {"ai.onnx.preview.training.Gradient", "is in models_of_gradients.cpp"},
      {"ai.onnx.preview.training.Adagrad", isUpdate},
      {"ai.onnx.preview.training.Momentum", isUpdate},
      {"ai.onnx.preview.training.Adam", isUpdate},
      {"mpc.Adam", isUpdate},
      {"mpc.AdamW", isUpdate},
  };
  return ops;
}

} // namespace mpc::test
