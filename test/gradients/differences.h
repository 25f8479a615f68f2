//===- differences.h - Gradients and finite differences ---------*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_DIFFERENCES_H
#define MPC_TEST_GRADIENTS_DIFFERENCES_H

#include "test/gradients/models.h"

namespace mpc::test {

using Gradients = std::map<std::string, Values>;

ProgramPtr compileModel(const Model &model, const char *precision, double lr);

/// What one step of plain descent subtracts from each parameter, over `lr`. All
/// precisions start from the same values.
Gradients takeGradients(Session &session, const Model &model, double lr);

/// The gradients in f64, and what central differences of the loss say they are.
struct Differences {
  Gradients gradients, expected;
  double loss = 0;

  /// Smaller derivatives may be nothing but rounding, which adds 1e-10 of the
  /// loss at most.
  double least() const;
};

/// Without gradients, and the test failed, if the model does not compile.
Differences takeDifferences(const Model &model);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_DIFFERENCES_H
