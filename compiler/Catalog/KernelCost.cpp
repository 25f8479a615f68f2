//===- KernelCost.cpp - Arithmetic of catalog kernels ---------------------===//

#include "compiler/Catalog/KernelCost.h"
#include "compiler/Catalog/Catalog.h"

#include "kernels/flops.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

/// The type of a package; nothing if packages do not have it.
static std::optional<mpc_dtype_t> dtypeOf(Type type) {
  if (type.isInteger(64))
    return MPC_DTYPE_I64;
  if (type.isInteger(32))
    return MPC_DTYPE_I32;
  if (type.isInteger(8))
    return MPC_DTYPE_U8;
  if (type.isInteger(1))
    return MPC_DTYPE_BOOL;
  return llvm::TypeSwitch<Type, std::optional<mpc_dtype_t>>(type)
      .Case<Float32Type>([](auto) { return MPC_DTYPE_F32; })
      .Case<Float16Type>([](auto) { return MPC_DTYPE_F16; })
      .Case<BFloat16Type>([](auto) { return MPC_DTYPE_BF16; })
      .Case<Float64Type>([](auto) { return MPC_DTYPE_F64; })
      .Case<Float8E4M3FNType>([](auto) { return MPC_DTYPE_F8E4M3; })
      .Case<Float8E5M2Type>([](auto) { return MPC_DTYPE_F8E5M2; })
      .Default([](Type) { return std::nullopt; });
}

mpc::KernelArithmetic
mpc::arithmeticOf(llvm::StringRef name,
                  llvm::ArrayRef<RankedTensorType> operands,
                  llvm::ArrayRef<int64_t> attributes) {
  std::optional<uint32_t> id = kernelId(name);
  if (!id)
    return {};
  kernels::KernelDesc desc;
  desc.id = static_cast<kernels::KernelId>(*id);
  desc.attributes.assign(attributes.begin(), attributes.end());
  for (RankedTensorType type : operands) {
    std::optional<mpc_dtype_t> dtype = dtypeOf(type.getElementType());
    if (!dtype)
      return {};
    desc.operands.push_back({*dtype, type.getShape().vec()});
  }
  return {kernels::count_flops(desc), kernels::may_use_tf32(desc)};
}
