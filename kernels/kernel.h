// The interface of catalog kernels to the runtime.

#ifndef MPC_KERNELS_KERNEL_H_
#define MPC_KERNELS_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpc/dtype.h"

namespace mpc::kernels {

enum class KernelId : uint32_t {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) name = id,
#include "kernels/catalog.def"
};

// Alignment of operands and scratch memory in bytes.
#define MPC_KERNEL_ALIGNMENT(bytes) \
  inline constexpr size_t kOperandAlignment = bytes;
#include "kernels/catalog.def"

// A dense row-major tensor. Rank 0 is a scalar.
struct TensorDesc {
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
};

// One call: operands are inputs, then outputs, as the catalog lists them.
struct KernelDesc {
  KernelId id;
  std::vector<TensorDesc> operands;
  std::vector<int64_t> attributes;
};

struct Context {
  // Number of threads the kernel may use, at least 1: threads of the caller's
  // team (see cpu/team/team.h), or OpenMP's.
  int threads;
  bool deterministic;  // Same bits for every number of threads.
};

// A prepared call: primitives are created and layouts chosen. Used by one
// thread at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // The implementation, for display: "brg:avx512_core_bf16", "reference".
  virtual std::string implementation() const = 0;
  // Bytes of scratch memory that `run` needs, aligned to kOperandAlignment.
  virtual size_t scratch_bytes() const { return 0; }
  // `operands` has one pointer per operand of the description, each aligned to
  // kOperandAlignment (any for copy and zero). Outputs are overwritten, never
  // accumulated into, and must not overlap other operands, except as
  // MPC_KERNEL_IN_PLACE allows. Throws nothing; returns false if the library
  // failed.
  virtual bool run(void* const* operands, void* scratch) const = 0;
};

// Prepares a call on the CPU. The description is checked completely, because it
// may come from a damaged package: ranks, consistency of shapes, dtypes,
// attribute counts and ranges. Returns null, with the reason in `*error`, if it
// is invalid or cannot run on this machine; throws std::bad_alloc if memory
// runs out, even inside the library.
std::unique_ptr<Kernel> make_cpu_kernel(const KernelDesc& desc,
                                        const Context& context,
                                        std::string* error);

// A slow and simple version: one thread, any float dtype, sums in f32 (f64 for
// f64). The other kernels are tested against it, and f64 programs use it.
std::unique_ptr<Kernel> make_reference_kernel(const KernelDesc& desc,
                                              std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_KERNEL_H_
