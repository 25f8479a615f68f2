//===- Interpreter.h - Functions of linalg ops, in f64 ----------*- C++ -*-===//
//
// The measure of compiled programs: ops run one after the other, element by
// element, each into memory of its own. Nothing is fused, planned or generated,
// so none of what those stages could get wrong can go wrong here.
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
  /// Without `kernels` a function with ops of the catalog cannot run.
  explicit Interpreter(KernelRunner kernels = {})
      : kernels(std::move(kernels)) {}

  /// What `train.read` and `train.write` go to, by name. Writes take effect
  /// when a function has returned.
  std::map<std::string, HostTensor> states;

  /// Runs `func`, whose ops are `linalg.generic`, views, constants, states and
  /// kernels of the catalog (what mpc-lower-to-linalg leaves). Returns its
  /// results; after an error no state has changed. Errors name the node.
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
