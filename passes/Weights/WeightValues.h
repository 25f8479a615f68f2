//===- WeightValues.h - The numbers of a tensor of a file -------*- C++ -*-===//
#ifndef MPC_PASSES_WEIGHTS_WEIGHTVALUES_H
#define MPC_PASSES_WEIGHTS_WEIGHTVALUES_H

#include "passes/Weights/WeightsFile.h"

namespace mpc {

bool isFloatDtype(mpc_dtype_t dtype);

/// Element `index` of a tensor of floats.
double numberAt(mpc_dtype_t dtype, const char *data, size_t index);

/// "f32[64,10]".
std::string typeText(mpc_dtype_t dtype, const std::vector<int64_t> &shape);

/// A state that may begin with a tensor of a file.
struct WeightState {
  std::string name;
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
};

/// Throws a WeightsError unless `tensor` has floats and the shape of the state.
void checkFits(const WeightsFile &file, const StoredWeight &tensor,
               const WeightState &state);

/// The numbers of a tensor for a state.
class WeightValues {
public:
  /// Reads the tensor after checkFits.
  WeightValues(const WeightsFile &file, const StoredWeight &tensor,
               const WeightState &state);

  /// Element `index`. Throws a WeightsError unless it is a finite float32.
  double at(size_t index) const;

  /// Whether `values`, those of the state, are the same numbers, rounded to
  /// its type.
  bool equal(const char *values) const;

private:
  const WeightsFile &file;
  const StoredWeight &tensor;
  const WeightState &state;
  const std::vector<char> data;
};

} // namespace mpc

#endif // MPC_PASSES_WEIGHTS_WEIGHTVALUES_H
