//===- module.h - From a module in memory to a program ---------*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_MODULE_H
#define MPC_TEST_GRADIENTS_MODULE_H

#include "test/gradients/harness.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpc::test {

/// Compiles a module that is past the precision stage for this CPU. If that
/// fails, the test fails and the result is null.
ProgramPtr buildProgram(mlir::ModuleOp module);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_MODULE_H
