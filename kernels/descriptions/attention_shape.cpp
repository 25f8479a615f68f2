// Checks descriptions of attention.

#include <algorithm>
#include <cmath>
#include <iterator>

#include "kernels/descriptions/checks.h"
#include "kernels/float_types.h"
#include "kernels/shapes.h"

namespace mpc::kernels {
namespace {

// Reads an f32 that is stored as an integer with its bits.
bool read_f32(const KernelDesc& desc, const char* name, Attributes* attributes,
              float* value, std::string* error) {
  int64_t bits;
  if (!attributes->read(name, 0, std::numeric_limits<uint32_t>::max(), &bits))
    return false;
  *value = bits_float(static_cast<uint32_t>(bits));
  return std::isfinite(*value) ||
         fail(desc, error,
              std::string(name) + " must be finite, found " +
                  std::to_string(*value));
}

// The kind of an attention kernel.
struct AttentionKind {
  KernelId id;
  bool forward;
  size_t bias_count;
  bool has_bias_grad, has_dropout;
};

constexpr AttentionKind kAttentionKinds[] = {
    {KernelId::attention, true, 0, false, false},
    {KernelId::attention_bshd, true, 0, false, false},
    {KernelId::packed_attention, true, 0, false, false},
    {KernelId::biased_attention, true, 1, false, false},
    {KernelId::twice_biased_attention, true, 2, false, false},
    {KernelId::attention_dropout, true, 0, false, true},
    {KernelId::biased_attention_dropout, true, 1, false, true},
    {KernelId::twice_biased_attention_dropout, true, 2, false, true},
    {KernelId::attention_grad, false, 0, false, false},
    {KernelId::attention_grad_bshd, false, 0, false, false},
    {KernelId::packed_attention_grad, false, 0, false, false},
    {KernelId::biased_attention_grad, false, 1, false, false},
    {KernelId::biased_attention_grad_all, false, 1, true, false},
    {KernelId::twice_biased_attention_grad, false, 2, false, false},
    {KernelId::twice_biased_attention_grad_all, false, 2, true, false},
    {KernelId::attention_dropout_grad, false, 0, false, true},
    {KernelId::biased_attention_dropout_grad, false, 1, false, true},
    {KernelId::biased_attention_dropout_grad_all, false, 1, true, true},
    {KernelId::twice_biased_attention_dropout_grad, false, 2, false, true},
    {KernelId::twice_biased_attention_dropout_grad_all, false, 2, true, true},
};

void set_kind(KernelId id, AttentionShape* shape) {
  const AttentionKind& kind = *std::find_if(
      std::begin(kAttentionKinds), std::end(kAttentionKinds),
      [&](const AttentionKind& candidate) { return candidate.id == id; });
  shape->forward = kind.forward;
  shape->bias_count = kind.bias_count;
  shape->has_bias_grad = kind.has_bias_grad;
  shape->has_dropout = kind.has_dropout;
  shape->packed =
      id == KernelId::packed_attention || id == KernelId::packed_attention_grad;
  shape->bshd = shape->packed || id == KernelId::attention_bshd ||
                id == KernelId::attention_grad_bshd;
}

bool is_sequence_first(const KernelDesc& desc) {
  return desc.attributes.size() > 2 && desc.attributes[2] != 0;
}

// The description with separate query, key and value, and gradients, of one in
// which they are packed; always with batches in front of the sequence.
bool separate(const KernelDesc& desc, bool forward, KernelDesc* separate,
              std::string* error) {
  const size_t packed = forward ? 0 : 1, result = packed + 1,
               gradient = forward ? packed : result + 2;
  if (!check_rank(desc, packed, 4, error) ||
      !check_rank(desc, result, 4, error))
    return false;
  const std::vector<int64_t>& all = desc.operands[packed].shape;
  const int64_t heads = desc.operands[result].shape[2];
  if (all[2] <= heads || (all[2] - heads) % 2 != 0 ||
      desc.operands[gradient].shape != all)
    return fail(desc, error,
                text(all) + " is not a query of " + std::to_string(heads) +
                    " heads with keys and values, or not the gradient's shape");
  separate->id = desc.id;
  separate->attributes = desc.attributes;
  for (size_t i = 0; i < desc.operands.size(); ++i) {
    const int parts = i == packed || i == gradient ? 3 : 1;
    for (int part = 0; part < parts; ++part) {
      separate->operands.push_back(desc.operands[i]);
      std::vector<int64_t>& shape = separate->operands.back().shape;
      if (is_sequence_first(desc) && i != result + 1 && shape.size() == 4)
        std::swap(shape[0], shape[1]);
      if (parts == 3) shape[2] = part == 0 ? heads : (all[2] - heads) / 2;
    }
  }
  return true;
}

// The operand indices of attention. Results of its gradient are in the order of
// the corresponding operands.
struct AttentionRoles {
  explicit AttentionRoles(const AttentionShape& shape)
      : query(shape.forward ? 0 : 1),
        output(shape.forward ? shape.first_result() : 4),
        log_sum_exp(shape.forward ? shape.first_result() + 1 : 5),
        results(shape.first_result()),
        result_count(shape.forward ? 1 : 3) {}
  size_t query, output, log_sum_exp, results, result_count;
};

// Reads whether attention is causal, and which bias replaces scores.
bool read_mask(Attributes* attributes, AttentionShape* shape) {
  int64_t mask;
  if (!attributes->read("mask", 0,
                        2 * static_cast<int64_t>(shape->bias_count) + 1, &mask))
    return false;
  shape->causal = mask % 2 != 0;
  shape->replacing = mask / 2 - 1;
  return true;
}

size_t required_attributes(const AttentionShape& shape) {
  return shape.has_dropout ? 4 : shape.packed ? 3 : 2;
}

// Reads what packed kernels have in addition.
bool read_order(Attributes* attributes, AttentionShape* shape) {
  shape->sequence_first = false;
  return !shape->packed ||
         attributes->read("sequence_first", &shape->sequence_first);
}

// Reads what kernels with dropout have in addition.
bool read_dropout(const KernelDesc& desc, Attributes* attributes,
                  AttentionShape* shape, std::string* error) {
  shape->ratio = 0;
  shape->index = 0;
  if (!shape->has_dropout) return true;
  int64_t index;
  if (!read_f32(desc, "ratio", attributes, &shape->ratio, error) ||
      !attributes->read("index", 0, std::numeric_limits<int64_t>::max(),
                        &index))
    return false;
  shape->index = static_cast<uint64_t>(index);
  if (!(shape->ratio >= 0 && shape->ratio < 1))
    return fail(
        desc, error,
        "ratio must lie in [0, 1), found " + std::to_string(shape->ratio));
  for (size_t i = shape->seed(); i < shape->seed() + 2; ++i)
    if (!check_rank(desc, i, 0, error) ||
        !check_dtype(desc, i, MPC_DTYPE_I64, MPC_DTYPE_I64, error))
      return false;
  return true;
}

// Reads the soft cap, which may follow the required attributes. The one that
// may follow it, tf32, is 0 or 1: less than the bits of a cap.
bool read_softcap(const KernelDesc& desc, Attributes* attributes,
                  AttentionShape* shape, std::string* error) {
  shape->softcap = 0;
  if (attributes->peek() <= 1)
    return attributes->expect(required_attributes(*shape), 1);
  if (!read_f32(desc, "softcap", attributes, &shape->softcap, error))
    return false;
  return shape->softcap >= std::numeric_limits<float>::min() ||
         fail(desc, error,
              "softcap must be a positive normal number, found " +
                  std::to_string(shape->softcap));
}

bool check_attention_dtypes(const KernelDesc& desc, const AttentionRoles& roles,
                            AttentionShape* shape, std::string* error) {
  if (!check_float(desc, shape->forward ? 3 : 5, error)) return false;
  shape->dtype = desc.operands[0].dtype;
  const mpc_dtype_t sum = sum_dtype(shape->dtype);
  if (!check_dtype(desc, roles.log_sum_exp, sum, sum, error) ||
      (shape->has_bias_grad &&
       !check_dtype(desc, roles.results + 3, sum, sum, error)))
    return false;
  for (size_t i = 0; i < shape->bias_count; ++i)
    if (!check_dtype(desc, shape->first_bias() + i, sum, sum, error))
      return false;
  for (size_t i = 0; i < roles.result_count; ++i) {
    if (!check_dtype(desc, roles.results + i, shape->dtype, sum, error))
      return false;
    shape->result_dtypes[i] = desc.operands[roles.results + i].dtype;
  }
  return true;
}

// Reads the strides of a bias. The extents must be known.
bool read_attention_bias(const KernelDesc& desc, size_t operand,
                         const AttentionShape* shape, BiasStrides* strides,
                         std::string* error) {
  if (!check_rank(desc, operand, 4, error)) return false;
  const std::vector<int64_t>& bias = desc.operands[operand].shape;
  const auto fits = [&](size_t dim, int64_t extent) {
    return bias[dim] == 1 || bias[dim] == extent;
  };
  if (!fits(0, shape->batch) || !fits(1, shape->heads) ||
      !fits(2, shape->queries) || bias[3] != shape->keys)
    return fail(
        desc, error,
        "a bias of " + text(bias) + " does not broadcast to scores of " +
            text({shape->batch, shape->heads, shape->queries, shape->keys}));
  if (bias[2] > 1) strides->row = bias[3];
  if (bias[1] > 1) strides->head = bias[2] * bias[3];
  if (bias[0] > 1) strides->batch = bias[1] * bias[2] * bias[3];
  return true;
}

}  // namespace

std::vector<OperandPlace> AttentionShape::separate_operands() const {
  std::vector<OperandPlace> places(first_result() + (forward         ? 2
                                                     : has_bias_grad ? 4
                                                                     : 3));
  const size_t query = forward ? 0 : 1;
  size_t operand = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_result = !forward && i >= first_result();
    const size_t part = i - (is_result ? first_result() : query);
    places[i] = {operand, 0};
    if (packed && part < 3) {
      const int64_t head = part == 0   ? 0
                           : part == 1 ? heads
                                       : heads + key_heads;
      places[i].offset = static_cast<size_t>(head * depth) *
                         mpc_dtype_size(is_result ? result_dtypes[0] : dtype);
      if (part < 2) continue;
    }
    ++operand;
  }
  return places;
}

bool parse_attention(const KernelDesc& found, AttentionShape* shape,
                     std::string* error) {
  set_kind(found.id, shape);
  KernelDesc separated;
  if (shape->packed && !separate(found, shape->forward, &separated, error))
    return false;
  const KernelDesc& desc = shape->packed ? separated : found;
  const AttentionRoles roles(*shape);
  shape->biases = {};
  Attributes attributes(desc, error);
  if (!attributes.expect(required_attributes(*shape), 2) ||
      !read_mask(&attributes, shape) ||
      !read_f32(desc, "scale", &attributes, &shape->scale, error) ||
      !read_order(&attributes, shape) ||
      !read_dropout(desc, &attributes, shape, error) ||
      !read_softcap(desc, &attributes, shape, error) ||
      !attributes.read_tf32(&shape->tf32) ||
      !check_attention_dtypes(desc, roles, shape, error))
    return false;
  for (size_t i = roles.query; i < roles.query + 3; ++i)
    if (!check_rank(desc, i, 4, error)) return false;
  // From [B, T, H, D] to [B, H, T, D] and back.
  const auto reordered = [&](std::vector<int64_t> extents) {
    if (shape->bshd) std::swap(extents[1], extents[2]);
    return extents;
  };
  const auto extents_of = [&](size_t operand) {
    return reordered(desc.operands[operand].shape);
  };
  const std::vector<int64_t> query = extents_of(roles.query);
  const std::vector<int64_t> key = extents_of(roles.query + 1);
  const std::vector<int64_t> value = extents_of(roles.query + 2);
  shape->batch = query[0];
  shape->heads = query[1];
  shape->queries = query[2];
  shape->depth = query[3];
  shape->key_heads = key[1];
  shape->keys = key[2];
  shape->value_depth = value[3];
  if (key[0] != query[0] || key[3] != query[3] || query[1] % key[1] != 0 ||
      !std::equal(key.begin(), key.end() - 1, value.begin()))
    return fail(desc, error,
                "a query of " + text(reordered(query)) + " has no keys of " +
                    text(reordered(key)) + " and values of " +
                    text(reordered(value)));

  const auto expect = [&](size_t operand,
                          const std::vector<int64_t>& expected) {
    return desc.operands[operand].shape == expected ||
           fail(desc, error,
                "operand " +
                    std::to_string(
                        operand -
                        (shape->packed && operand > roles.query ? 2 : 0)) +
                    " must have shape " + text(expected) + ", found " +
                    text(desc.operands[operand].shape));
  };
  const std::vector<int64_t> output =
      reordered({query[0], query[1], query[2], value[3]});
  if (!expect(roles.output, output) ||
      !expect(roles.log_sum_exp, {2, query[0], query[1], query[2]}))
    return false;
  for (size_t i = 0; i < shape->bias_count; ++i)
    if (!read_attention_bias(desc, shape->first_bias() + i, shape,
                             &shape->biases[i], error))
      return false;
  if (shape->forward) return true;
  return expect(0, output) && expect(roles.results, reordered(query)) &&
         expect(roles.results + 1, reordered(key)) &&
         expect(roles.results + 2, reordered(value)) &&
         (!shape->has_bias_grad ||
          expect(roles.results + 3, desc.operands[shape->first_bias()].shape));
}

}  // namespace mpc::kernels
