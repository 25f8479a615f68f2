//===- unsampled.h - Ops without rows of special points ---------*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_SPECIAL_UNSAMPLED_H
#define MPC_TEST_GRADIENTS_SPECIAL_UNSAMPLED_H

#include "test/gradients/samples/samples.h"

namespace mpc::test {

/// Ops that have no gradients or no special points.
const std::vector<UnsampledOp> &opsWithoutSpecialPoints();

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_SPECIAL_UNSAMPLED_H
