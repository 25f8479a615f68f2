// What a kernel of the catalog looks like to the runtime.

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

// What operands and scratch memory are aligned to, in bytes.
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
  // Threads the kernel may use, at least 1: those of the team that the caller
  // is in (see cpu/team.h) or OpenMP's, as many as ThreadScope says.
  int threads;
  bool deterministic;  // Same bits for every number of threads.
};

// A call made ready: primitives created, layouts chosen. Used by one thread at
// a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  // What computes it, for people: "brg:avx512_core_bf16", "reference".
  virtual std::string implementation() const = 0;
  // Bytes of scratch memory that `run` needs, aligned to kOperandAlignment.
  virtual size_t scratch_bytes() const { return 0; }
  // `operands` has one pointer per operand of the description, each aligned to
  // kOperandAlignment (any for copy and zero). Outputs are overwritten, never
  // accumulated into, and must not overlap other operands. Throws nothing;
  // returns false if the library failed.
  virtual bool run(void* const* operands, void* scratch) const = 0;
};

// Makes a call ready on the CPU. The description is checked in full (it may
// come from a damaged package): ranks, shapes against each other, dtypes,
// attribute counts and ranges. Returns null and says why in `*error` where it
// is wrong or cannot run on this machine; throws std::bad_alloc where memory
// ends, also inside the library.
std::unique_ptr<Kernel> make_cpu_kernel(const KernelDesc& desc,
                                        const Context& context,
                                        std::string* error);

// The slow and obvious version, one thread, any float dtype, sums in f32 (f64
// for f64). The measure of the others, and what f64 programs run on.
std::unique_ptr<Kernel> make_reference_kernel(const KernelDesc& desc,
                                              std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_KERNEL_H_
