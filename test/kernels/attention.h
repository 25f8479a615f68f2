// Attention compared with the reference in f64, with error bounds derived from
// how it is computed; for every device.

#ifndef MPC_TEST_KERNELS_ATTENTION_H_
#define MPC_TEST_KERNELS_ATTENTION_H_

#include <functional>
#include <memory>
#include <vector>

#include "test/kernels/harness.h"

namespace mpc::kernels::testing {

struct AttentionCase {
  int64_t batch, heads, key_heads, queries, keys, depth, value_depth;
  bool causal;
  float scale = 0.25f;
};

// Sizes near those of vectors, strips and blocks; longer and shorter keys.
inline const std::vector<AttentionCase> kAttentions = {
    {1, 1, 1, 1, 1, 1, 1, false, 1.0f},
    {1, 1, 1, 1, 1, 1, 1, true, -1.0f},
    {2, 3, 3, 5, 7, 4, 6, false},
    {2, 3, 3, 7, 5, 6, 4, true},
    {1, 2, 2, 17, 33, 16, 16, false, 0.5f},
    {1, 2, 2, 33, 17, 8, 24, true, 2.0f},
    {2, 2, 2, 65, 65, 16, 16, true},
    {1, 4, 2, 9, 11, 8, 8, false},
    {2, 6, 2, 13, 13, 8, 8, true},
    {1, 4, 1, 3, 70, 5, 3, false},
    {1, 1, 1, 130, 70, 32, 32, false, -0.125f},
};

// Several strips and steps of the keys.
inline const std::vector<AttentionCase> kLargeAttentions = {
    {1, 2, 2, 200, 200, 64, 64, true, 0.125f},
    {2, 3, 1, 150, 600, 32, 48, true},
    {1, 2, 2, 600, 150, 24, 16, true},
    {1, 3, 3, 129, 700, 16, 16, false},
    {1, 1, 1, 1100, 1100, 8, 8, true},
};

KernelDesc attention_desc(KernelId id, const AttentionCase& c,
                          mpc_dtype_t dtype, mpc_dtype_t result);

// Inputs that the dtypes can represent (for the gradient, including the results
// of a forward pass), the expected results in f64, and error bounds. The bounds
// are for a kernel that keeps sums in f32, and in the operands' dtype
// probabilities, their gradients, and each head's contribution to the gradient
// of shared keys.
class AttentionExpectation {
 public:
  explicit AttentionExpectation(const KernelDesc& desc);
  void check(const Kernel& kernel) const;
  const std::vector<std::vector<double>>& inputs() const { return inputs_; }

 private:
  void bound_forward();
  void bound_gradient();

  KernelDesc desc_;
  std::vector<std::vector<double>> inputs_, outputs_, bounds_;
};

using MakeKernel =
    std::function<std::unique_ptr<Kernel>(const KernelDesc& desc)>;

// Probabilities of scores up to 2^127, of either sign, are as accurate as those
// of small scores, for equal scores and for scores that differ by a few units
// in the last place, both in the forward pass and when recomputed for the
// gradient.
void expect_exact_for_large_scores(mpc_dtype_t dtype, const MakeKernel& make);

// Fully masked queries (all scores -inf) give zeros and zero gradients, without
// any effect on other queries.
void expect_zeros_for_empty_rows(mpc_dtype_t dtype, const MakeKernel& make);

}  // namespace mpc::kernels::testing

#endif  // MPC_TEST_KERNELS_ATTENTION_H_
