// What parsers of kernel descriptions share: checks of operands and attributes.
// All return false and set `*error` if something is wrong. For sources of this
// folder and shapes.cpp.

#ifndef MPC_KERNELS_DESCRIPTIONS_CHECKS_H_
#define MPC_KERNELS_DESCRIPTIONS_CHECKS_H_

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/kernel.h"

namespace mpc::kernels {

// oneDNN uses `int` for extents; with this limit products of two extents fit in
// int64_t.
constexpr int64_t kMaxExtent = std::numeric_limits<int32_t>::max();

// Returns false.
bool fail(const KernelDesc& desc, std::string* error, const std::string& what);

std::string text(int64_t value);
std::string text(const std::vector<int64_t>& shape);

bool is_float(mpc_dtype_t dtype);

bool check_rank(const KernelDesc& desc, size_t operand, size_t rank,
                std::string* error);
// The operand has one of two dtypes.
bool check_dtype(const KernelDesc& desc, size_t operand, mpc_dtype_t dtype,
                 mpc_dtype_t other, std::string* error);
// The first operand has a float dtype, and the first `operands` have the same.
bool check_float(const KernelDesc& desc, size_t operands, std::string* error);

// The dtype in which sums of this dtype are computed.
mpc_dtype_t sum_dtype(mpc_dtype_t dtype);

// Reads attributes in order. Checks the count once, ranges one by one.
class Attributes {
 public:
  Attributes(const KernelDesc& desc, std::string* error)
      : desc_(desc), error_(error) {}

  bool expect(size_t count, size_t optional = 0) {
    return (count <= desc_.attributes.size() &&
            desc_.attributes.size() <= count + optional) ||
           fail(desc_, error_,
                "needs " + std::to_string(count) + " attributes, found " +
                    std::to_string(desc_.attributes.size()));
  }
  bool read(const char* name, int64_t low, int64_t high, int64_t* value) {
    *value = desc_.attributes[next_++];
    return (low <= *value && *value <= high) ||
           fail(desc_, error_,
                std::string(name) + " must be in " + text(low) + ".." +
                    text(high) + ", found " + text(*value));
  }
  // The next attribute, or 0 if none is left.
  int64_t peek() const {
    return next_ < desc_.attributes.size() ? desc_.attributes[next_] : 0;
  }
  bool read(const char* name, bool* value) {
    int64_t number;
    if (!read(name, 0, 1, &number)) return false;
    *value = number != 0;
    return true;
  }
  // Reads the optional last attribute.
  bool read_tf32(bool* value) {
    *value = false;
    if (next_ == desc_.attributes.size()) return true;
    if (!read("tf32", value)) return false;
    return !*value || desc_.operands[0].dtype == MPC_DTYPE_F32 ||
           fail(desc_, error_,
                std::string("tf32 is for operands of f32, found ") +
                    mpc_dtype_name(desc_.operands[0].dtype));
  }
  // One value per spatial dimension; the padding dimension gets `fill`.
  bool read(const char* name, int64_t low, int64_t fill, size_t dims,
            std::array<int64_t, 2>* values) {
    *values = {fill, fill};
    for (size_t i = 2 - dims; i < 2; ++i)
      if (!read(name, low, kMaxExtent, &(*values)[i])) return false;
    return true;
  }

 private:
  const KernelDesc& desc_;
  std::string* error_;
  size_t next_ = 0;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_DESCRIPTIONS_CHECKS_H_
