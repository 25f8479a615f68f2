//===- KernelCost.h - Arithmetic of catalog kernels -------------*- C++ -*-===//
#ifndef MPC_COMPILER_CATALOG_KERNELCOST_H
#define MPC_COMPILER_CATALOG_KERNELCOST_H

#include "mlir/IR/BuiltinTypes.h"

namespace mpc {

/// The arithmetic of one call.
struct KernelArithmetic {
  uint64_t flops = 0; ///< As mpc::kernels::count_flops counts them.
  bool mayUseTf32 = false;
};

/// The arithmetic of a call of the catalog's kernel `name`, whose operands are
/// inputs, then results, with its attributes; zero if the call is not valid.
KernelArithmetic arithmeticOf(llvm::StringRef name,
                              llvm::ArrayRef<mlir::RankedTensorType> operands,
                              llvm::ArrayRef<int64_t> attributes);

} // namespace mpc

#endif // MPC_COMPILER_CATALOG_KERNELCOST_H
