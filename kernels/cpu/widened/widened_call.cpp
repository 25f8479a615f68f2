#include "kernels/cpu/widened/widened_call.h"

namespace mpc::kernels::cpu {
namespace {

float* floats_at(Slot slot, void* const* operands, void* scratch,
                 size_t piece) {
  return static_cast<float*>(address_of(slot, operands, scratch, piece));
}

}  // namespace

bool is_widened(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F16 ||
         (dtype == MPC_DTYPE_BF16 && !has_fast_bf16());
}

bool WidenedCall::run(void* const* operands, void* scratch, size_t piece) {
  const int64_t steps = cutting_->steps(piece);
  for (int64_t step = 0; step < steps; ++step) {
    for (size_t i = 0; i < inputs.size(); ++i)
      inputs[i].conversion.widen(
          operands[inputs[i].operand], cutting_->input(i, piece, step),
          floats_at(inputs[i].slot, operands, scratch, 0), threads_);
    if (!calls[cutting_->call(piece, step)].run(operands, scratch, piece))
      return false;
    if (sum && step > 0)
      f32_.loops().add(floats_at(sum->addend, operands, scratch, piece),
                       sum->count,
                       floats_at(sum->sum, operands, scratch, piece));
  }
  if (result)
    result->conversion.round(floats_at(result->slot, operands, scratch, 0),
                             cutting_->result(piece), operands[result->operand],
                             threads_);
  return true;
}

bool WidenOperand::run(void* const* operands, void* scratch, size_t) {
  buffer_.conversion.widen(operands[buffer_.operand], Part::flat(0, count_),
                           floats_at(buffer_.slot, operands, scratch, 0),
                           threads_);
  return true;
}

}  // namespace mpc::kernels::cpu
