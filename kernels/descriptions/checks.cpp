#include "kernels/descriptions/checks.h"

#include "kernels/shapes.h"

namespace mpc::kernels {

bool fail(const KernelDesc& desc, std::string* error, const std::string& what) {
  const char* name = kernel_name(desc.id);
  *error = std::string(name ? name : "kernel") + ": " + what;
  return false;
}

std::string text(int64_t value) { return std::to_string(value); }

std::string text(const std::vector<int64_t>& shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    result += (i ? ", " : "") + text(shape[i]);
  return result + "]";
}

bool check_rank(const KernelDesc& desc, size_t operand, size_t rank,
                std::string* error) {
  const size_t found = desc.operands[operand].shape.size();
  return found == rank ||
         fail(desc, error,
              "operand " + std::to_string(operand) + " must have rank " +
                  std::to_string(rank) + ", found " + std::to_string(found));
}

bool check_dtype(const KernelDesc& desc, size_t operand, mpc_dtype_t dtype,
                 mpc_dtype_t other, std::string* error) {
  const mpc_dtype_t found = desc.operands[operand].dtype;
  if (found == dtype || found == other) return true;
  std::string expected = mpc_dtype_name(dtype);
  if (other != dtype) expected += std::string(" or ") + mpc_dtype_name(other);
  return fail(desc, error,
              "operand " + std::to_string(operand) + " must be " + expected +
                  ", found " + mpc_dtype_name(found));
}

bool is_float(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F32 || dtype == MPC_DTYPE_F16 ||
         dtype == MPC_DTYPE_BF16 || dtype == MPC_DTYPE_F64;
}

bool check_float(const KernelDesc& desc, size_t operands, std::string* error) {
  const mpc_dtype_t dtype = desc.operands[0].dtype;
  if (!is_float(dtype))
    return fail(desc, error,
                std::string("operand 0 must be a float, found ") +
                    mpc_dtype_name(dtype));
  for (size_t i = 1; i < operands; ++i)
    if (!check_dtype(desc, i, dtype, dtype, error)) return false;
  return true;
}

mpc_dtype_t sum_dtype(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F64 ? MPC_DTYPE_F64 : MPC_DTYPE_F32;
}

}  // namespace mpc::kernels
