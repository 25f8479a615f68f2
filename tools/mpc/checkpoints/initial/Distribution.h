//===- Distribution.h - Distributions of initial weights --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_DISTRIBUTION_H
#define MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_DISTRIBUTION_H

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// A way to initialize a parameter, as users write it.
struct Initializer {
  enum class Kind { Zeros, Ones, Kaiming, Xavier, Normal, TruncNormal };
  Kind kind = Kind::Kaiming;
  double deviation = 1;     ///< For the normal distributions.
  bool usesOutputs = false; ///< Kaiming: from the outputs, not the inputs.
};

/// Parses "kaiming", "kaiming:fan-out" or "normal:0.02". Throws a Failure whose
/// message names --reinit.
Initializer parseInitializer(const std::string &text);

/// The distribution of the elements of one parameter.
class Distribution {
public:
  /// Numbers of inputs and outputs follow from the shape as in PyTorch: [out,
  /// in] or [out, in, height, width]. Kaiming and Xavier apply to tensors of at
  /// least two dimensions; of vectors, biases become 0, and scales, which are
  /// called weight, gamma or scale, become 1. Throws a Failure if `name` is
  /// neither.
  Distribution(const Initializer &initializer, const std::string &name,
               const std::vector<int64_t> &shape);

  /// Element `index` of the parameter; depends on `seed`, `stream` and `index`
  /// only.
  double draw(uint64_t seed, uint64_t stream, uint64_t index) const;

  /// "uniform in [-0.306, 0.306]", "0".
  std::string describe() const;

private:
  enum class Shape { Constant, Uniform, Normal, TruncatedNormal };
  Shape shape;
  double size; ///< The constant, the bound or the standard deviation.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_DISTRIBUTION_H
