//===- InstructionCost.h - Cost of planned instructions ---------*- C++ -*-===//
#ifndef MPC_PASSES_PLAN_INSTRUCTIONCOST_H
#define MPC_PASSES_PLAN_INSTRUCTIONCOST_H

#include "compiler/Dialect/Exec/IR/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseSet.h"

#include <string>
#include <vector>

namespace mpc {

/// The arithmetic and the memory traffic of one instruction, and what it would
/// have in a program without narrow formats.
struct InstructionCost {
  int64_t flops = 0, bytes = 0;
  int64_t wideFlops = 0, wideBytes = 0;

  bool operator==(const InstructionCost &other) const {
    return flops == other.flops && bytes == other.bytes &&
           wideFlops == other.wideFlops && wideBytes == other.wideBytes;
  }
};

/// The maximum number of elements of each operand that a generated kernel
/// accesses; empty for kernels that are only declared.
std::vector<int64_t> countTouched(mlir::func::FuncOp kernel);

/// Counts what the instructions of a module cost.
class CostOfInstructions {
public:
  explicit CostOfInstructions(mlir::ModuleOp module);

  /// The cost of a launch of `kernel`, which accesses at most `touched`
  /// elements of its operands. In f32, a kernel that only rounds is not needed.
  InstructionCost of(exec::LaunchOp launch, mlir::func::FuncOp kernel,
                     llvm::ArrayRef<int64_t> touched, bool isTranspose) const;
  InstructionCost of(exec::CallOp call) const;

  /// The format that a call multiplies in: "bf16", or "tf32" if GPUs may use
  /// it; "" if it does no arithmetic.
  static std::string dtypeOf(exec::CallOp call);

private:
  int64_t wideBytes(exec::BufferAttr buffer, int64_t elements,
                    bool isResult) const;

  /// The states that a program without narrow formats lacks.
  llvm::DenseSet<int64_t> copies; ///< By offset.
};

/// The bytes of the inputs of an entry point and of the states that it reads
/// and writes, each counted once for reading and once for writing. `touchedBy`
/// returns what countTouched counts for a kernel, or nothing.
int64_t requiredBytes(
    exec::EntryOp entry,
    llvm::function_ref<llvm::ArrayRef<int64_t>(llvm::StringRef)> touchedBy);

} // namespace mpc

#endif // MPC_PASSES_PLAN_INSTRUCTIONCOST_H
