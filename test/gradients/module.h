//===- module.h - From a module in memory to a program ---------*- C++ -*-===//
#ifndef MPC_TEST_GRADIENTS_MODULE_H
#define MPC_TEST_GRADIENTS_MODULE_H

#include "test/gradients/harness.h"

#include "mlir/IR/BuiltinOps.h"

namespace mpc::test {

/// The program of a module that is past the precision stage, for this CPU.
/// Fails the test, and is null, if it cannot be made.
ProgramPtr buildProgram(mlir::ModuleOp module);

} // namespace mpc::test

#endif // MPC_TEST_GRADIENTS_MODULE_H
