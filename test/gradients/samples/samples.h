//===- samples.h - Random samples of every op that has gradients --*- C++
//-*-===//
//
// For each op a function that sketches a sample of it: any number of them, each
// with other shapes and attributes.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_GRADIENTS_SAMPLES_SAMPLES_H
#define MPC_TEST_GRADIENTS_SAMPLES_SAMPLES_H

#include "test/gradients/samples/sketch.h"

#include <functional>

namespace mpc::test {

struct SampledOp {
  std::string op;
  /// Parameters of samples, all of which must matter in one of them.
  std::string inputs;
  std::function<void(Sketch &)> draw;

  Sample sample(int number) const;
};

/// By families.
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
