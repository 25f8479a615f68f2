// Attention compared with the reference in f64, with error bounds derived from
// how it is computed; for every device.

#ifndef MPC_TEST_KERNELS_ATTENTION_H_
#define MPC_TEST_KERNELS_ATTENTION_H_

#include <functional>
#include <memory>
#include <vector>

#include "test/kernels/harness.h"

namespace mpc::kernels::testing {

// Which extents of a bias are those of the scores; the others are 1.
struct BiasExtents {
  bool batch, heads, rows;
};

struct AttentionCase {
  int64_t batch, heads, key_heads, queries, keys, depth, value_depth;
  bool causal;
  float scale = 0.25f;
  std::vector<BiasExtents> biases = {};
  bool bshd = false;    // Operands are [B, T, H, D]; without biases.
  bool packed = false;  // Query, key and value are one operand. Implies bshd.
  bool sequence_first = false;  // Packed operands are [T, B, H, D].
  float dropout = 0;            // Dropout of the probabilities; not with bshd.
  float softcap = 0;            // 0 for none.
  // The bias that replaces scores where it is not 0, or -1. Half of its
  // elements are 0.
  int64_t replacing = -1;
};

// The same cases of [B, T, H, D].
std::vector<AttentionCase> as_bshd(std::vector<AttentionCase> cases);
// Those with as many keys as queries and equal depths, packed in both orders.
std::vector<AttentionCase> as_packed(std::vector<AttentionCase> cases);
// Both.
std::vector<AttentionCase> in_other_layouts(
    const std::vector<AttentionCase>& cases);
// The same cases with a dropout.
std::vector<AttentionCase> with_dropout(std::vector<AttentionCase> cases);

// The same cases with a soft cap, which bends scores of about 1.
std::vector<AttentionCase> with_softcap(std::vector<AttentionCase> cases);
// The same cases, with biases, the last of which replaces scores.
std::vector<AttentionCase> with_replacing(std::vector<AttentionCase> cases);

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

// Masks for padding, of every query, of a head, learned for all batches; with
// groups of heads and two biases; one for all scores, and one for each.
inline const std::vector<AttentionCase> kBiasedAttentions = {
    {2, 3, 3, 5, 7, 4, 6, false, 0.25f, {{true, false, false}}},
    {2, 2, 2, 9, 5, 8, 4, true, 0.25f, {{true, false, true}}},
    {3, 4, 2, 6, 11, 5, 3, false, 0.5f, {{false, true, true}}},
    {2, 4, 1, 17, 33, 8, 8, false, 1.0f, {{false, true, false}}},
    {2, 4, 2, 7, 7, 4, 4, true, 0.25f, {{false, false, true}}},
    {3, 2, 2, 4, 6, 3, 5, false, 0.25f, {{true, true, true}}},
    {2,
     6,
     2,
     33,
     9,
     8,
     8,
     false,
     -0.5f,
     {{false, true, true}, {true, false, false}}},
    {2,
     2,
     1,
     5,
     8,
     4,
     4,
     true,
     0.25f,
     {{true, true, false}, {true, false, true}}},
    {1, 1, 1, 1, 1, 1, 1, false, 1.0f, {{false, false, false}}},
};

// Several strips and steps of the keys.
inline const std::vector<AttentionCase> kLargeAttentions = {
    {1, 2, 2, 200, 200, 64, 64, true, 0.125f},
    {2, 3, 1, 150, 600, 32, 48, true},
    {1, 2, 2, 600, 150, 24, 16, true},
    {1, 3, 3, 129, 700, 16, 16, false},
    {1, 1, 1, 1100, 1100, 8, 8, true},
};

inline const std::vector<AttentionCase> kLargeBiasedAttentions = {
    {2, 3, 1, 150, 600, 32, 48, true, 0.25f, {{false, true, true}}},
    {1,
     3,
     3,
     300,
     700,
     16,
     16,
     false,
     0.25f,
     {{true, false, false}, {false, true, true}}},
};

// The kernels for so many biases; the first one is the forward kernel.
std::vector<KernelId> attention_ids(const AttentionCase& c);

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
  // Adds expected results and bounds for separate operands of [B, H, T, D].
  void expect();
  void swap_heads_of_all();
  void pack_all();
  void put_sequences_first();

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

// A bias of minus infinity hides a key, and a query of which it hides all keys
// gives zeros and zero gradients. If all biases of a row are the lowest number,
// scores do not matter.
void expect_hidden_keys(mpc_dtype_t dtype, const MakeKernel& make);

}  // namespace mpc::kernels::testing

#endif  // MPC_TEST_KERNELS_ATTENTION_H_
