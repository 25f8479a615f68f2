//===- TokenSampler.h - Choose a token from logits --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_GENERATION_TOKENSAMPLER_H
#define MPC_TOOLS_MPC_GENERATION_TOKENSAMPLER_H

#include <cstdint>
#include <random>
#include <vector>

namespace mpc::tool {

struct SamplingSettings {
  double temperature = 1; ///< 0: the most likely token.
  uint64_t topK = 0;      ///< 0: all tokens.
  double topP = 1;        ///< In (0, 1].
  uint64_t seed = 0;
};

/// Draws tokens: logits are divided by the temperature; then only the `topK`
/// most likely tokens remain, and of these the fewest whose probabilities,
/// which are not scaled up again, add up to at least `topP` (nucleus sampling,
/// https://arxiv.org/abs/1904.09751). Of equal logits, the lower token comes
/// first. The same seed gives the same tokens on every machine.
class TokenSampler {
public:
  explicit TokenSampler(const SamplingSettings &settings)
      : settings(settings), random(settings.seed) {}

  /// `logits` has at least one number, and no nan.
  int64_t draw(const float *logits, int64_t count);

private:
  const SamplingSettings settings;
  std::mt19937_64 random; ///< The standard defines its numbers.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_GENERATION_TOKENSAMPLER_H
