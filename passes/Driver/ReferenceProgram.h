//===- ReferenceProgram.h - Interpreted training program --------*- C++ -*-===//
//
// A model's entry points in f64, interpreted op by op: the reference for the
// results of compiled programs.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DRIVER_REFERENCEPROGRAM_H
#define MPC_PASSES_DRIVER_REFERENCEPROGRAM_H

#include "compiler/Reference/Interpreter.h"
#include "passes/Driver/Pipeline.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace mpc {

/// A module whose values have their final types, and its context.
struct LoweredModule {
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Runs the first stages of `mpc::compile`, up to and including precision.
/// Fills `lowered` if the result has no error; the report is that of the first
/// device.
CompileResult lowerModel(const CompileOptions &options, LoweredModule &lowered);

class ReferenceProgram {
public:
  /// A state, or one tensor of a packed state, by its name in checkpoints.
  struct State {
    std::string symbol;
    int64_t offset; ///< Offset in the packed state, in elements.
    mlir::RankedTensorType type;
    bool isParameter;
  };

  /// Takes the result of lowerModel for a model with --precision=fp64; fails,
  /// with a message in `error`, if an op cannot be interpreted.
  static std::unique_ptr<ReferenceProgram>
  create(LoweredModule lowered, reference::KernelRunner runner,
         std::string &error);

  const std::map<std::string, State> &states() const { return tensors; }
  /// The state with the number of updates that the schedule is made for; "" if
  /// there is none.
  std::string totalStepsState() const;
  std::vector<reference::Element> read(const State &state) const;
  void write(const State &state, llvm::ArrayRef<reference::Element> elements);

  bool has(llvm::StringRef entry) const;
  /// Names and types of the inputs of an entry point.
  std::vector<std::pair<std::string, mlir::RankedTensorType>>
  inputs(llvm::StringRef entry) const;
  /// Names and types of the named results of an entry point.
  std::vector<std::pair<std::string, mlir::RankedTensorType>>
  outputs(llvm::StringRef entry) const;
  /// Returns results by name. After an error no state has changed.
  llvm::Expected<std::map<std::string, reference::HostTensor>>
  run(llvm::StringRef entry, std::vector<reference::HostTensor> inputs);

private:
  ReferenceProgram(LoweredModule lowered, reference::KernelRunner runner)
      : lowered(std::move(lowered)), interpreter(std::move(runner)) {}
  mlir::func::FuncOp find(llvm::StringRef entry) const;
  void listStates();

  LoweredModule lowered;
  reference::Interpreter interpreter;
  std::map<std::string, State> tensors;
};

} // namespace mpc

#endif // MPC_PASSES_DRIVER_REFERENCEPROGRAM_H
