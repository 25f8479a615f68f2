//===- samples.h - Random samples of every op that has gradients --*- C++
//-*-===//
//
// Each op has a function that generates any number of samples, with different
// shapes and attributes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_GRADIENTS_SAMPLES_SAMPLES_H
#define MPC_TEST_GRADIENTS_SAMPLES_SAMPLES_H

#include "test/gradients/samples/sample_builder.h"

#include <functional>

namespace mpc::test {

struct SampledOp {
  std::string op;
  /// Parameters of samples, each of which must affect the loss in some sample.
  std::string inputs;
  std::function<void(SampleBuilder &)> draw;

  Sample sample(int number) const;
};

/// Samples by op family.
std::vector<SampledOp> elementwiseSamples();
std::vector<SampledOp> functionSamples();
std::vector<SampledOp> shapeSamples();
std::vector<SampledOp> indexSamples();
std::vector<SampledOp> controlSamples();
std::vector<SampledOp> windowSamples();
std::vector<SampledOp> imageSamples();
std::vector<SampledOp> sumSamples();
std::vector<SampledOp> normalizationSamples();
std::vector<SampledOp> recurrentSamples();
std::vector<SampledOp> attentionSamples();

const std::vector<SampledOp> &sampledOps();

struct UnsampledOp {
  const char *op, *reason;
};
/// Ops without gradients.
const std::vector<UnsampledOp> &unsampledOps();

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_SAMPLES_SAMPLES_H
