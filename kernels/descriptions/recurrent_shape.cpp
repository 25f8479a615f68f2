// Checks descriptions of recurrent layers.

#include <string>
#include <vector>

#include "kernels/descriptions/checks.h"
#include "kernels/shapes.h"

namespace mpc::kernels {
namespace {

// One letter for the shape of each operand: sequences of states S [T, N, H] and
// of gates G [T, N, gates * H]; the weights R [gates * H, H]; a bias B [4 * H];
// one state V [N, H].
const char* operands_of(KernelId id) {
  switch (id) {
    case KernelId::lstm:
      return "GRBVVSVGS";
    case KernelId::lstm_grad:
      return "SVRVGSGVV";
    case KernelId::gru:
      return "GRBVSGS";
    default:
      return "SRVSGSGGV";
  }
}

std::vector<int64_t> shape_of(char letter, const RecurrentShape& s) {
  const int64_t gates = s.gates() * s.hidden;
  switch (letter) {
    case 'S':
      return {s.steps, s.batch, s.hidden};
    case 'G':
      return {s.steps, s.batch, gates};
    case 'R':
      return {gates, s.hidden};
    case 'B':
      return {4 * s.hidden};
    default:
      return {s.batch, s.hidden};
  }
}

}  // namespace

bool parse_recurrent(const KernelDesc& desc, RecurrentShape* shape,
                     std::string* error) {
  const auto fail = [&](const std::string& what) {
    *error = std::string(kernel_name(desc.id)) + ": " + what;
    return false;
  };
  const auto fail_at = [&](size_t operand, const std::string& what) {
    return fail("operand " + std::to_string(operand) + " must " + what);
  };
  if (desc.attributes.size() != 1)
    return fail("needs 1 attributes, found " +
                std::to_string(desc.attributes.size()));
  if (desc.attributes[0] != 0 && desc.attributes[0] != 1)
    return fail("reverse must be in 0..1, found " +
                std::to_string(desc.attributes[0]));
  shape->reverse = desc.attributes[0] != 0;
  shape->is_lstm = desc.id == KernelId::lstm || desc.id == KernelId::lstm_grad;
  shape->forward = desc.id == KernelId::lstm || desc.id == KernelId::gru;

  const std::string letters = operands_of(desc.id);
  const size_t weights = letters.find('R');
  const std::vector<int64_t>& sequence = desc.operands[0].shape;
  const std::vector<int64_t>& recurrence = desc.operands[weights].shape;
  if (sequence.size() != 3)
    return fail_at(0, "have rank 3, found " + std::to_string(sequence.size()));
  if (recurrence.size() != 2)
    return fail_at(weights,
                   "have rank 2, found " + std::to_string(recurrence.size()));
  shape->steps = sequence[0];
  shape->batch = sequence[1];
  shape->hidden = recurrence[1];

  shape->dtype = desc.operands[weights].dtype;
  if (shape->dtype != MPC_DTYPE_F32 && shape->dtype != MPC_DTYPE_F64 &&
      shape->dtype != MPC_DTYPE_BF16 && shape->dtype != MPC_DTYPE_F16)
    return fail_at(weights, std::string("be a float, found ") +
                                mpc_dtype_name(shape->dtype));
  const mpc_dtype_t sums =
      shape->dtype == MPC_DTYPE_F64 ? MPC_DTYPE_F64 : MPC_DTYPE_F32;
  for (size_t i = 0; i < desc.operands.size(); ++i) {
    const TensorDesc& operand = desc.operands[i];
    const std::vector<int64_t> expected = shape_of(letters[i], *shape);
    if (operand.shape != expected)
      return fail_at(
          i, "have shape " + text(expected) + ", found " + text(operand.shape));
    if (i != weights && operand.dtype != sums)
      return fail_at(i, std::string("be ") + mpc_dtype_name(sums) + ", found " +
                            mpc_dtype_name(operand.dtype));
  }
  return true;
}

}  // namespace mpc::kernels
