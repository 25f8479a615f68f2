// A 16-bit kernel that runs an f32 kernel on strips, for CPUs without
// instructions for the type. Parts of the operands that fit into the cache are
// widened, an f32 primitive runs on them, and its result is rounded. Memory is
// read and written in 16 bits, as by a native kernel, and sums are in f32.

#ifndef MPC_KERNELS_CPU_WIDENED_WIDENED_CALL_H_
#define MPC_KERNELS_CPU_WIDENED_WIDENED_CALL_H_

#include "kernels/cpu/dnnl/dnnl_kernel.h"
#include "kernels/cpu/widened/conversion.h"

namespace mpc::kernels::cpu {

// Whether kernels of this type are widened.
bool is_widened(mpc_dtype_t dtype);

// How a kernel is cut into pieces, and pieces into steps, each of which is one
// run of a primitive.
class Cutting {
 public:
  virtual ~Cutting() = default;
  virtual int64_t steps(size_t piece) const = 0;
  // Index of the primitive to run: those at the edges are smaller.
  virtual size_t call(size_t piece, int64_t step) const = 0;
  // The part of an input that a step reads; inputs are numbered as in
  // WidenedCall.
  virtual Part input(size_t index, size_t piece, int64_t step) const = 0;
  virtual Part result(size_t piece) const = 0;
};

// All pieces that one thread computes.
class WidenedCall final : public PieceCall {
 public:
  // An operand and its f32 copy; the slot has no stride.
  struct Buffer {
    int operand;
    Conversion conversion;
    Slot slot;
  };
  // The first step of a piece writes to `sum`; later steps write to `addend`,
  // which is added to `sum`.
  struct Sum {
    Slot addend, sum;
    int64_t count;
  };

  WidenedCall(std::shared_ptr<const Cutting> cutting, int threads)
      : cutting_(std::move(cutting)), threads_(threads) {}
  bool run(void* const* operands, void* scratch, size_t piece) override;

  std::vector<Buffer> inputs;
  // None if primitives write directly to the result.
  std::optional<Buffer> result;
  std::optional<Sum> sum;
  std::vector<DnnlCall> calls;

 private:
  std::shared_ptr<const Cutting> cutting_;
  int threads_;
  Conversion f32_{MPC_DTYPE_F32};
};

// Widens a whole operand.
class WidenOperand final : public PieceCall {
 public:
  WidenOperand(int operand, mpc_dtype_t dtype, int64_t count, Slot to,
               int threads)
      : buffer_{operand, Conversion(dtype), to},
        count_(count),
        threads_(threads) {}
  bool run(void* const* operands, void* scratch, size_t piece) override;

 private:
  WidenedCall::Buffer buffer_;
  int64_t count_;
  int threads_;
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_WIDENED_WIDENED_CALL_H_
