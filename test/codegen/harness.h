//===- harness.h - Run generated kernels beside an evaluator ----*- C++ -*-===//
//
// Kernels are generated from ops of the train dialect as in the compiler,
// loaded into this process, and called with their items split in several ways.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_CODEGEN_HARNESS_H
#define MPC_TEST_CODEGEN_HARNESS_H

#include "compiler/Target/Backend.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <string>
#include <vector>

namespace mpc {
struct CompileOptions;
} // namespace mpc

namespace mpc::test {

/// Elements of a tensor, row-major, including booleans and integers.
using Elements = std::vector<double>;

/// The value of `element` nearest to `value`.
double roundTo(mlir::Type element, double value);

/// Evaluates a kernel of `linalg.generic` element by element. Float arithmetic
/// is in f64, except for rounding to 16 bits.
std::vector<Elements> interpret(mlir::func::FuncOp kernel,
                                const std::vector<Elements> &inputs);

/// A kernel that can be called, or launched in the simulator.
struct Kernel {
  std::string name;
  std::vector<mlir::RankedTensorType> inputs, outputs;
  int64_t items;
  mlir::func::FuncOp source; ///< In linalg.
  unsigned threads;          ///< Threads per block on a GPU; 0 on a CPU.
  int64_t sharedBytes;       ///< Dynamic shared memory of a block, at most.
  void *code;
};

class Compiled {
public:
  /// Compiles a module of train ops for this machine, or for the GPU simulator
  /// of a GPU with `features`.
  explicit Compiled(const std::string &text, llvm::StringRef device = "cpu",
                    std::vector<std::string> features = {});
  /// Compiles an ONNX model, like `mpc compile`.
  Compiled(const CompileOptions &model, llvm::StringRef device);
  ~Compiled();

  std::vector<Kernel> kernels;

private:
  void build(llvm::StringRef device, std::vector<std::string> features = {});

  struct Parts;
  Parts *parts;
};

/// Launches `kernel` once in the simulator, on operands given as bytes.
void launchOnce(const Kernel &kernel, std::vector<void *> operands);

/// Calls `kernel` on `inputs`: whole and in pieces, or with its threads in
/// several orders, and with each result in the memory of an input, where
/// allowed. Fails the test if results differ in any bit or if anything else is
/// written.
std::vector<Elements> call(const Kernel &kernel,
                           const std::vector<Elements> &inputs);

/// Compares every kernel of `text` with interpret() on random inputs, with
/// floats in [low, high]. Returns the number of kernels.
size_t checkKernels(const std::string &text, double low = -3, double high = 3,
                    llvm::StringRef device = "cpu");

/// The same for all kernels of a compiled module, with at least `tolerance`.
void checkKernels(const Compiled &compiled, double low, double high,
                  double least);

} // namespace mpc::test

#endif // MPC_TEST_CODEGEN_HARNESS_H
