//===- Scaling.h - Scaled and normalized inputs -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SCALING_H
#define MPC_TOOLS_MPC_DATA_SCALING_H

#include "tools/mpc/base/Runtime.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// What --scale and --normalize do to the values of an f32 input: value *
/// factor + offset, with a factor and an offset for each channel, or one for
/// all.
struct Scaling {
  std::vector<float> factors, offsets; ///< Empty: nothing is done.
  /// Consecutive elements of a sample that belong to the same channel.
  uint64_t run = 1;

  bool isGiven() const { return !factors.empty(); }

  /// Applies it to `count` elements of one sample.
  void apply(float *values, uint64_t count) const;

  /// "x*0.00392+0" for fingerprints; "" if nothing is done.
  std::string describe() const;
};

/// The scaling of an input according to the options, whose values are
/// "[INPUT=]FACTOR" (a number, or a quotient such as 1/255) and
/// "[INPUT=]MEAN,.../STD,..." or "[INPUT=]imagenet". Without an input they
/// apply to the f32 inputs that are not `targets`. value * factor is
/// normalized: minus the mean, divided by the standard deviation. Throws a
/// Failure for malformed options and for numbers of channels that the input
/// does not have.
Scaling scalingOf(const Binding &input, const std::vector<std::string> &scales,
                  const std::vector<std::string> &normalizations);

/// Throws a Failure if one of the options names an input that is not in
/// `inputs`, or one that is not f32.
void checkScalingNames(const std::vector<Binding> &inputs,
                       const std::vector<std::string> &scales,
                       const std::vector<std::string> &normalizations);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SCALING_H
