//===- differences.h - Gradients and finite differences ---------*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_DIFFERENCES_H
#define MPC_TEST_GRADIENTS_DIFFERENCES_H

#include "test/gradients/models.h"

namespace mpc::test {

using Gradients = std::map<std::string, Values>;

ProgramPtr compileModel(const Model &model, const char *precision, double lr);

/// What one step of plain gradient descent subtracts from each parameter,
/// divided by `lr`. All precisions start from the same values.
Gradients takeGradients(Session &session, const Model &model, double lr);

/// The gradients in f64, and those from central differences of the loss.
struct Differences {
  Gradients gradients, expected;
  double loss = 0;

  /// Smaller derivatives may be only rounding error, which is at most 1e-10 of
  /// the loss.
  double least() const;
};

/// If the model does not compile, fails the test and returns no gradients.
Differences takeDifferences(const Model &model);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_DIFFERENCES_H
