//===- Interpreter.h - f64 interpreter of linalg ops ------------*- C++ -*-===//
//
// The reference for compiled programs: ops run in order, element by element,
// each into separate memory. Nothing is fused, planned or generated, so bugs of
// those stages cannot occur here.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REFERENCE_INTERPRETER_H
#define MPC_COMPILER_REFERENCE_INTERPRETER_H

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Reference/HostTensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <string>

namespace mpc::reference {

/// Computes the results of an op that is a kernel of the catalog.
using KernelRunner = std::function<llvm::Error(
    train::KernelOpInterface op, llvm::ArrayRef<const HostTensor *> operands,
    llvm::MutableArrayRef<HostTensor> results)>;

class Interpreter {
public:
  /// Without `kernels`, functions with ops of the catalog cannot run.
  explicit Interpreter(KernelRunner kernels = {})
      : kernels(std::move(kernels)) {}

  /// The states that `train.read` and `train.write` access, by name. Writes
  /// take effect when a function returns.
  std::map<std::string, HostTensor> states;

  /// Runs `func`, whose ops are `linalg.generic`, views, constants, states and
  /// kernels of the catalog (the output of mpc-lower-to-linalg). Returns its
  /// results; after an error, states are unchanged. Errors name the node.
  llvm::Expected<std::vector<HostTensor>>
  run(mlir::func::FuncOp func, std::vector<HostTensor> arguments);

private:
  using Shared = std::shared_ptr<HostTensor>;

  llvm::Error run(mlir::Operation &op);
  llvm::Error runGeneric(mlir::linalg::GenericOp op);
  llvm::Error runKernel(train::KernelOpInterface op);
  llvm::Expected<HostTensor *> tensor(mlir::Value value);
  void set(mlir::Value value, HostTensor tensor);

  KernelRunner kernels;
  llvm::DenseMap<mlir::Value, Shared> values; ///< By memory root.
  std::map<std::string, HostTensor> written;
};

} // namespace mpc::reference

#endif // MPC_COMPILER_REFERENCE_INTERPRETER_H
