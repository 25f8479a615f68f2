// A 16-bit kernel made of strips of an f32 one, for CPUs that do not compute in
// the type. Parts of the operands that fit into the cache are widened, an f32
// primitive runs on them, and its result is rounded: memory is read and written
// in 16 bits, as it would be by a kernel of the type, and sums are in f32.

#ifndef MPC_KERNELS_CPU_WIDENED_WIDENED_CALL_H_
#define MPC_KERNELS_CPU_WIDENED_WIDENED_CALL_H_

#include "kernels/cpu/dnnl/dnnl_kernel.h"
#include "kernels/cpu/widened/conversion.h"

namespace mpc::kernels::cpu {

// Whether kernels of this type are made so.
bool is_widened(mpc_dtype_t dtype);

// How a kernel is cut into pieces, and these into steps, each one run of a
// primitive.
class Cutting {
 public:
  virtual ~Cutting() = default;
  virtual int64_t steps(size_t piece) const = 0;
  // Which of the primitives: those at the edges are smaller.
  virtual size_t call(size_t piece, int64_t step) const = 0;
  // What a step reads of an input, counted as WidenedCall does.
  virtual Part input(size_t index, size_t piece, int64_t step) const = 0;
  virtual Part result(size_t piece) const = 0;
};

// All pieces that one thread computes.
class WidenedCall final : public PieceCall {
 public:
  // An operand and the f32 that stand for it; slots without strides.
  struct Buffer {
    int operand;
    Conversion conversion;
    Slot slot;
  };
  // Primitives of all steps but the first of a piece leave here what is to be
  // added to `sum`, which the first one wrote.
  struct Sum {
    Slot addend, sum;
    int64_t count;
  };

  WidenedCall(std::shared_ptr<const Cutting> cutting, int threads)
      : cutting_(std::move(cutting)), threads_(threads) {}
  bool run(void* const* operands, void* scratch, size_t piece) override;

  std::vector<Buffer> inputs;
  // None where primitives write to the result itself.
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
