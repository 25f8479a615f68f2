// Checks descriptions of catalog kernels and converts them to a normalized
// form. Everything that could be wrong in a damaged package is rejected here,
// so that kernels can rely on their shapes.

#ifndef MPC_KERNELS_SHAPES_H_
#define MPC_KERNELS_SHAPES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/dropout.h"
#include "kernels/kernel.h"

namespace mpc::kernels {

// One dimension of a batch: the extent of the result and whether an operand
// has it or repeats one element along it.
struct BatchDim {
  int64_t extent;
  bool in_lhs, in_rhs;
};

// What is done with a product before it is stored.
enum class Epilogue {
  kNone,
  kAdd,       // An addend like the result is operand 2.
  kBias,      // A bias, an element for each column, is operand 2.
  kGelu,      // A bias is operand 2, the argument of GELU the last result.
  kGeluGrad,  // The argument of GELU is operand 2.
};

inline bool has_bias(Epilogue epilogue) {
  return epilogue == Epilogue::kBias || epilogue == Epilogue::kGelu;
}

inline bool has_argument(Epilogue epilogue) {
  return epilogue == Epilogue::kGelu || epilogue == Epilogue::kGeluGrad;
}

// result[b.., m, n] = sum over k of lhs[b.., m, k] * rhs[b.., k, n].
struct MatmulShape {
  mpc_dtype_t dtype, result_dtype;
  mpc_dtype_t rhs_dtype;  // Differs from that of lhs only in FP8.
  bool transpose_lhs, transpose_rhs;
  int64_t m, n, k;
  // Adjacent dimensions that broadcast alike are merged; extents of 1 are
  // removed.
  std::vector<BatchDim> batch;
  bool tf32 = false;    // GPUs may use TF32 for f32 operands.
  bool scaled = false;  // Two factors follow the operands.
  Epilogue epilogue = Epilogue::kNone;

  size_t result_operand() const {
    return scaled ? 4 : epilogue == Epilogue::kNone ? 2 : 3;
  }
};

// A window that slides over an image. One spatial dimension is held as two of
// which the first has extent 1.
struct Window {
  std::array<int64_t, 2> kernel, strides, dilations, pads_begin, pads_end;
};

// Shapes of the forward operation, also for its gradients.
struct ConvShape {
  mpc_dtype_t dtype, result_dtype, bias_dtype;
  bool channels_last, has_bias;
  int64_t batch, input_channels, output_channels, group;
  std::array<int64_t, 2> input, output;
  Window window;
  bool tf32 = false;
};

struct PoolShape {
  mpc_dtype_t dtype;
  bool channels_last, count_include_pad;
  int64_t batch, channels;
  std::array<int64_t, 2> input, output;
  Window window;
};

// Strides of a bias of attention, 0 where its extent is 1. It has an element
// for each key.
struct BiasStrides {
  int64_t batch, head, row;
};

constexpr size_t kMaxBiases = 2;
constexpr size_t kMaxAttentionOperands = 14;

// Where an operand is: inside another one, some bytes behind its beginning.
struct OperandPlace {
  size_t operand, offset;
};

// Distances between rows of attention's operands, which have an element for
// each depth, in rows.
struct HeadStrides {
  int64_t batch, head, row;

  // The row at `index` of a head; heads are counted over all batches, and each
  // batch has `heads`.
  int64_t at(int64_t head_of_all, int64_t heads, int64_t index) const {
    return head_of_all / heads * batch + head_of_all % heads * head +
           index * row;
  }
};

// The shape of attention. Each head of the keys and values serves heads /
// key_heads consecutive heads of the queries.
struct AttentionShape {
  bool forward;
  mpc_dtype_t dtype;
  // Types of the result, or of the gradients of query, key and value.
  std::array<mpc_dtype_t, 3> result_dtypes;
  int64_t batch, heads, key_heads, queries, keys, depth, value_depth;
  bool causal;
  float scale;
  float softcap =
      0;  // Scaled scores s become softcap tanh(s / softcap); 0 for none.
  bool tf32 = false;
  size_t bias_count;
  int64_t replacing = -1;  // The bias that replaces scores, or -1.
  bool has_bias_grad;      // The gradient of the first bias is the last result.
  bool bshd = false;  // Operands are [B, T, H, D] rather than [B, H, T, D].
  // Query, key and value are heads of one operand [B, T, heads + 2 key_heads,
  // D], in this order, and their gradients heads of one result. Implies bshd.
  bool packed = false;
  // Such operands, and the result, are [T, B, heads, D] instead.
  bool sequence_first = false;
  std::array<BiasStrides, kMaxBiases> biases;
  bool has_dropout;  // Then seed and step are operands in front of the biases.
  float ratio;       // The dropout and its number in the program.
  uint64_t index;

  // The first element of a bias for a query of a head; heads are counted over
  // all batches.
  int64_t bias_at(size_t bias, int64_t head, int64_t query) const {
    const BiasStrides& strides = biases[bias];
    return head / heads * strides.batch + head % heads * strides.head +
           query * strides.row;
  }
  // Elements of the first bias.
  int64_t bias_elements() const {
    return (biases[0].batch ? batch : 1) * (biases[0].head ? heads : 1) *
           (biases[0].row ? queries : 1) * keys;
  }
  // The indices of operands and of the first result.
  size_t first_bias() const { return seed() + (has_dropout ? 2 : 0); }
  size_t first_result() const { return first_bias() + bias_count; }
  // The dropout of a call with these operands, on the host.
  Dropout dropout(const void* const* operands) const {
    const auto number = [&](size_t operand) {
      return *static_cast<const int64_t*>(operands[operand]);
    };
    return Dropout::of(ratio, index, number(seed()), number(seed() + 1));
  }
  size_t seed() const { return forward ? 3 : 6; }
  // Queries of all heads: rows of scores.
  int64_t rows() const { return batch * heads * queries; }
  // Strides of query and its gradient, of key, value and their gradients, and
  // of the result and its gradient.
  HeadStrides query_strides() const {
    return strides(heads, queries, packed ? packed_heads() : heads);
  }
  HeadStrides key_strides() const {
    return strides(key_heads, keys, packed ? packed_heads() : key_heads);
  }
  HeadStrides result_strides() const { return strides(heads, queries, heads); }
  // The operands of a kernel with separate query, key and value, whose indices
  // the members above give.
  std::vector<OperandPlace> separate_operands() const;
  // Heads of a packed operand.
  int64_t packed_heads() const { return heads + 2 * key_heads; }
  // Keys that the query sees.
  int64_t visible(int64_t query) const {
    return causal && query < keys ? query + 1 : keys;
  }

 private:
  // Strides of `count` heads, which lie among `row` heads of a row with `bshd`.
  HeadStrides strides(int64_t count, int64_t length, int64_t row) const {
    if (sequence_first) return {row, 1, batch * row};
    if (bshd) return {length * row, 1, row};
    return {count * length, length, 1};
  }
};

// The shape of a recurrent layer: states are [batch, hidden].
struct RecurrentShape {
  bool is_lstm, forward, reverse;
  mpc_dtype_t dtype;  // That of the weights; others are f32 (f64 for f64).
  int64_t steps, batch, hidden;

  // Parts of the weights' rows.
  int64_t gates() const { return is_lstm ? 4 : 3; }
  // The position of step `i` in sequences.
  int64_t position(int64_t i) const { return reverse ? steps - 1 - i : i; }
};

// Rows of a table, `width` elements each, and `count` indices of rows. `dtype`
// is that of the table or of the incoming gradient.
struct EmbeddingShape {
  mpc_dtype_t dtype, index_dtype;
  int64_t rows, width, count;
};

// The number of elements and their types; the second type is that of the
// gradient, if there is one.
struct ObserveShape {
  mpc_dtype_t dtype, gradient_dtype;
  int64_t count;
};

// The row of the table for an index; -1 if the index is out of range.
inline int64_t embedding_row(int64_t index, int64_t rows) {
  if (index < 0) index += rows;
  return index >= 0 && index < rows ? index : -1;
}

// Strides, in elements, of an image of `channels` and `extent`.
struct ImageStrides {
  int64_t n, c, h, w;
  ImageStrides(bool channels_last, int64_t channels,
               std::array<int64_t, 2> extent)
      : n(channels * extent[0] * extent[1]),
        c(channels_last ? 1 : extent[0] * extent[1]),
        h(channels_last ? extent[1] * channels : extent[1]),
        w(channels_last ? channels : 1) {}
};

// The name of a kernel; null if the catalog has no such kernel.
const char* kernel_name(KernelId id);

// Checks what every kernel requires: counts, dtypes, ranks, extents and sizes.
bool check_description(const KernelDesc& desc, std::string* error);

// The following functions require a description that `check_description` has
// accepted. Parses matmul and scaled_matmul.
bool parse_matmul(const KernelDesc& desc, MatmulShape* shape,
                  std::string* error);
// Returns false, with the reason in `*error`, for FP8, which only GPUs
// multiply.
bool computes_in_memory_type(const MatmulShape& shape, std::string* error);
bool parse_conv(const KernelDesc& desc, ConvShape* shape, std::string* error);
bool parse_pool(const KernelDesc& desc, PoolShape* shape, std::string* error);
// The kernels that parse_attention reads, as labels of a switch.
#define MPC_CASES_OF_ATTENTION                        \
  case KernelId::attention:                           \
  case KernelId::attention_grad:                      \
  case KernelId::attention_bshd:                      \
  case KernelId::attention_grad_bshd:                 \
  case KernelId::packed_attention:                    \
  case KernelId::packed_attention_grad:               \
  case KernelId::biased_attention:                    \
  case KernelId::biased_attention_grad:               \
  case KernelId::biased_attention_grad_all:           \
  case KernelId::twice_biased_attention:              \
  case KernelId::twice_biased_attention_grad:         \
  case KernelId::twice_biased_attention_grad_all:     \
  case KernelId::attention_dropout:                   \
  case KernelId::attention_dropout_grad:              \
  case KernelId::biased_attention_dropout:            \
  case KernelId::biased_attention_dropout_grad:       \
  case KernelId::biased_attention_dropout_grad_all:   \
  case KernelId::twice_biased_attention_dropout:      \
  case KernelId::twice_biased_attention_dropout_grad: \
  case KernelId::twice_biased_attention_dropout_grad_all
bool parse_attention(const KernelDesc& desc, AttentionShape* shape,
                     std::string* error);
bool parse_recurrent(const KernelDesc& desc, RecurrentShape* shape,
                     std::string* error);
bool parse_embedding(const KernelDesc& desc, EmbeddingShape* shape,
                     std::string* error);
bool parse_observe(const KernelDesc& desc, ObserveShape* shape,
                   std::string* error);
// Bytes that `copy` copies or `zero` clears.
bool parse_bytes(const KernelDesc& desc, size_t* bytes, std::string* error);
bool parse_mean_over_ranks(const KernelDesc& desc, size_t* bytes,
                           std::string* error);

// The first position of the window inside the image, and one past the last, for
// the result at `index`. The range is never empty for a checked pooling.
struct Taps {
  int64_t start;  // Coordinate of position 0; may be negative.
  int64_t first, end;
};
Taps window_taps(const Window& window, int dim, int64_t input, int64_t index);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_SHAPES_H_
