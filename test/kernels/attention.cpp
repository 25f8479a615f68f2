#include "test/kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "kernels/float_types.h"
#include "kernels/shapes.h"

namespace mpc::kernels::testing {
namespace {

double wide_roundoff(mpc_dtype_t dtype) {
  return roundoff(dtype == MPC_DTYPE_F64 ? MPC_DTYPE_F64 : MPC_DTYPE_F32);
}

// The absolute error of numbers below the normal range.
double underflow(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F16 ? 0x1p-25 : 0x1p-120;
}

std::vector<double> representable(const TensorDesc& desc,
                                  const std::vector<double>& values) {
  return values_of(desc, make_tensor(desc, values));
}

// Splits f64 sums into two parts of another type.
std::vector<double> in_two_parts(const TensorDesc& desc,
                                 std::vector<double> values) {
  const std::vector<double> rounded = representable(desc, values);
  const size_t count = values.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    values[count + i] += values[i] - rounded[i];
    values[i] = rounded[i];
  }
  return representable(desc, values);
}

// One query of one head with its keys, computed in f64.
struct Query {
  // For all keys that the query sees: probabilities, whether their scores
  // depend on the product, their relative errors, and the sums of the absolute
  // values of the scores' terms.
  std::vector<double> p;
  std::vector<bool> has_product;
  double log_sum_exp = 0, largest_score = 0, largest_terms = 0;
};

// `biases` are the elements of each bias for this query.
Query query_of(const AttentionShape& s, const double* query, const double* key,
               int64_t index, const std::vector<const double*>& biases) {
  Query result;
  std::vector<double> scores(static_cast<size_t>(s.visible(index)));
  const double* replacing =
      s.replacing < 0 ? nullptr : biases[static_cast<size_t>(s.replacing)];
  double largest = -INFINITY;
  for (size_t j = 0; j < scores.size(); ++j) {
    double sum = 0, terms = 0;
    for (int64_t d = 0; d < s.depth; ++d) {
      const double product =
          query[d] * key[static_cast<int64_t>(j) * s.depth + d];
      sum += product;
      terms += std::fabs(product);
    }
    scores[j] = s.scale * sum;
    terms *= std::fabs(s.scale);
    if (s.softcap > 0) {
      scores[j] = s.softcap * std::tanh(scores[j] / s.softcap);
      terms += s.softcap;  // The cap is good to a few units of its largest.
    }
    for (const double* bias : biases) {
      if (bias != replacing) scores[j] += bias[j];
      terms += std::fabs(bias[j]);
    }
    result.has_product.push_back(!replacing || replacing[j] == 0);
    if (!result.has_product[j]) scores[j] = replacing[j];
    largest = std::max(largest, scores[j]);
    result.largest_score = std::max(result.largest_score, std::fabs(scores[j]));
    result.largest_terms = std::max(result.largest_terms, terms);
  }
  double sum = 0;
  for (double score : scores) sum += std::exp(score - largest);
  result.log_sum_exp = largest + std::log(sum);
  for (double score : scores)
    result.p.push_back(std::exp(score - result.log_sum_exp));
  return result;
}

template <typename F>
void for_queries(const AttentionShape& s, F&& body) {
  for (int64_t b = 0; b < s.batch; ++b)
    for (int64_t h = 0; h < s.heads; ++h)
      for (int64_t i = 0; i < s.queries; ++i)
        body((b * s.heads + h) * s.queries + i,
             (b * s.key_heads + h / (s.heads / s.key_heads)) * s.keys, i);
}

AttentionShape shape_of(const KernelDesc& desc) {
  AttentionShape shape;
  std::string error;
  EXPECT_TRUE(parse_attention(desc, &shape, &error)) << error;
  return shape;
}

// The elements of the biases for a query, whose row is counted over all heads.
std::vector<const double*> biases_of(
    const AttentionShape& s, const std::vector<std::vector<double>>& inputs,
    int64_t row) {
  std::vector<const double*> biases;
  for (size_t i = 0; i < s.bias_count; ++i)
    biases.push_back(&inputs[s.first_bias() + i]
                            [s.bias_at(i, row / s.queries, row % s.queries)]);
  return biases;
}

bool is_forward(KernelId id) {
  return std::string_view(kernel_name(id)).find("grad") ==
         std::string_view::npos;
}

bool is_packed(KernelId id) {
  return id == KernelId::packed_attention ||
         id == KernelId::packed_attention_grad;
}

bool is_bshd(KernelId id) {
  return id == KernelId::attention_bshd ||
         id == KernelId::attention_grad_bshd || is_packed(id);
}

// The operand with the logarithms of sums, which have one layout, of a kernel
// that may have the other.
size_t sums_of(const KernelDesc& desc) { return is_forward(desc.id) ? 4 : 5; }

// The description with heads and rows exchanged: of the other layout.
KernelDesc with_swapped_heads(KernelDesc desc) {
  for (size_t i = 0; i < desc.operands.size(); ++i)
    if (i != sums_of(desc))
      std::swap(desc.operands[i].shape[1], desc.operands[i].shape[2]);
  return desc;
}

// Replaces the description of each query, key and value, or their gradients, by
// that of an operand with the heads of all, and back.
KernelDesc packed_of(KernelDesc desc) {
  std::vector<TensorDesc>& operands = desc.operands;
  const auto pack = [&](size_t first) {
    operands[first].shape[2] += 2 * operands[first + 1].shape[2];
    const auto next = operands.begin() + static_cast<ptrdiff_t>(first) + 1;
    operands.erase(next, next + 2);
  };
  if (!is_forward(desc.id)) pack(6);
  pack(is_forward(desc.id) ? 0 : 1);
  return desc;
}
KernelDesc separate_of(KernelDesc desc) {
  std::vector<TensorDesc>& operands = desc.operands;
  const size_t packed = is_forward(desc.id) ? 0 : 1;
  const int64_t heads = operands[packed + 1].shape[2];
  const auto separate = [&](size_t operand) {
    TensorDesc key = operands[operand];
    key.shape[2] = (key.shape[2] - heads) / 2;
    operands[operand].shape[2] = heads;
    operands.insert(operands.begin() + static_cast<ptrdiff_t>(operand) + 1, 2,
                    key);
  };
  if (!is_forward(desc.id)) separate(4);
  separate(packed);
  return desc;
}

// Whether an operand of a packed kernel holds logarithms of sums.
bool is_sums_of_packed(KernelId id, size_t operand) {
  return operand == (is_forward(id) ? 2u : 3u);
}

bool is_sequence_first(const KernelDesc& desc) {
  return is_packed(desc.id) && desc.attributes[2] != 0;
}

// The description of a packed kernel with batch and sequence exchanged.
KernelDesc with_swapped_order(KernelDesc desc) {
  for (size_t i = 0; i < desc.operands.size(); ++i)
    if (!is_sums_of_packed(desc.id, i))
      std::swap(desc.operands[i].shape[0], desc.operands[i].shape[1]);
  desc.attributes[2] = 1 - desc.attributes[2];
  return desc;
}

// Replaces three operands of [B, T, heads, D] from `first` on by one.
void pack_heads(int64_t rows, size_t first,
                std::vector<std::vector<double>>* operands) {
  std::vector<double> packed;
  for (int64_t row = 0; row < rows; ++row)
    for (size_t i = first; i < first + 3; ++i) {
      const std::vector<double>& part = (*operands)[i];
      const int64_t width = static_cast<int64_t>(part.size()) / rows;
      packed.insert(packed.end(), part.begin() + row * width,
                    part.begin() + (row + 1) * width);
    }
  const auto at = operands->begin() + static_cast<ptrdiff_t>(first);
  *at = std::move(packed);
  operands->erase(at + 1, at + 3);
}

// [a, b, c, d] as [a, c, b, d].
void swap_heads(const std::vector<int64_t>& shape,
                std::vector<double>* values) {
  std::vector<double> swapped;
  for (int64_t a = 0; a < shape[0]; ++a)
    for (int64_t c = 0; c < shape[2]; ++c)
      for (int64_t b = 0; b < shape[1]; ++b)
        for (int64_t d = 0; d < shape[3]; ++d)
          swapped.push_back(
              (*values)[((a * shape[1] + b) * shape[2] + c) * shape[3] + d]);
  *values = std::move(swapped);
}

bool has_bias_grad(KernelId id) {
  return std::string_view(kernel_name(id)).find("grad_all") !=
         std::string_view::npos;
}

}  // namespace

std::vector<AttentionCase> as_bshd(std::vector<AttentionCase> cases) {
  for (AttentionCase& c : cases) c.bshd = true;
  return cases;
}

std::vector<AttentionCase> as_packed(std::vector<AttentionCase> cases) {
  std::vector<AttentionCase> packed;
  for (AttentionCase& c : as_bshd(std::move(cases))) {
    c.packed = true;
    if (c.queries != c.keys || c.depth != c.value_depth) continue;
    packed.push_back(c);
    c.sequence_first = true;
    packed.push_back(c);
  }
  return packed;
}

std::vector<AttentionCase> in_other_layouts(
    const std::vector<AttentionCase>& cases) {
  std::vector<AttentionCase> all = as_bshd(cases);
  for (const AttentionCase& c : as_packed(cases)) all.push_back(c);
  return all;
}

std::vector<AttentionCase> with_dropout(std::vector<AttentionCase> cases) {
  for (AttentionCase& c : cases) c.dropout = 0.3f;
  return cases;
}

std::vector<AttentionCase> with_softcap(std::vector<AttentionCase> cases) {
  for (AttentionCase& c : cases) c.softcap = 0.75f;
  return cases;
}

std::vector<AttentionCase> with_replacing(std::vector<AttentionCase> cases) {
  for (AttentionCase& c : cases)
    c.replacing = static_cast<int64_t>(c.biases.size()) - 1;
  return cases;
}

std::vector<KernelId> attention_ids(const AttentionCase& c) {
  if (c.packed)
    return {KernelId::packed_attention, KernelId::packed_attention_grad};
  if (c.bshd) return {KernelId::attention_bshd, KernelId::attention_grad_bshd};
  const std::vector<KernelId> ids[] = {
      {KernelId::attention, KernelId::attention_grad},
      {KernelId::biased_attention, KernelId::biased_attention_grad,
       KernelId::biased_attention_grad_all},
      {KernelId::twice_biased_attention, KernelId::twice_biased_attention_grad,
       KernelId::twice_biased_attention_grad_all}};
  const std::vector<KernelId> dropout_ids[] = {
      {KernelId::attention_dropout, KernelId::attention_dropout_grad},
      {KernelId::biased_attention_dropout,
       KernelId::biased_attention_dropout_grad,
       KernelId::biased_attention_dropout_grad_all},
      {KernelId::twice_biased_attention_dropout,
       KernelId::twice_biased_attention_dropout_grad,
       KernelId::twice_biased_attention_dropout_grad_all}};
  return (c.dropout > 0 ? dropout_ids : ids)[c.biases.size()];
}

KernelDesc attention_desc(KernelId id, const AttentionCase& c,
                          mpc_dtype_t dtype, mpc_dtype_t result) {
  const mpc_dtype_t sum =
      dtype == MPC_DTYPE_F64 ? MPC_DTYPE_F64 : MPC_DTYPE_F32;
  const TensorDesc query{dtype, {c.batch, c.heads, c.queries, c.depth}};
  const TensorDesc key{dtype, {c.batch, c.key_heads, c.keys, c.depth}};
  const TensorDesc value{dtype, {c.batch, c.key_heads, c.keys, c.value_depth}};
  const TensorDesc output{dtype, {c.batch, c.heads, c.queries, c.value_depth}};
  const TensorDesc sums{sum, {2, c.batch, c.heads, c.queries}};
  const auto as_result = [&](const TensorDesc& tensor) {
    return TensorDesc{result, tensor.shape};
  };
  std::vector<int64_t> attributes{c.causal + 2 * (c.replacing + 1),
                                  float_bits(c.scale)};
  if (c.dropout > 0)
    attributes.insert(attributes.end(), {float_bits(c.dropout), 5});
  if (c.packed) attributes.push_back(0);
  if (c.softcap > 0) attributes.push_back(float_bits(c.softcap));
  std::vector<TensorDesc> biases;
  for (const BiasExtents& bias : c.biases)
    biases.push_back({sum,
                      {bias.batch ? c.batch : 1, bias.heads ? c.heads : 1,
                       bias.rows ? c.queries : 1, c.keys}});
  const bool forward = is_forward(id);
  KernelDesc desc{id, {}, attributes};
  if (forward)
    desc.operands = {query, key, value};
  else
    desc.operands = {output, query, key, value, output, sums};
  if (c.dropout > 0)
    desc.operands.insert(desc.operands.end(), 2, {MPC_DTYPE_I64, {}});
  desc.operands.insert(desc.operands.end(), biases.begin(), biases.end());
  if (forward)
    desc.operands.insert(desc.operands.end(), {as_result(output), sums});
  else
    desc.operands.insert(desc.operands.end(),
                         {as_result(query), as_result(key), as_result(value)});
  if (has_bias_grad(id)) desc.operands.push_back(biases[0]);
  if (!is_bshd(id)) return desc;
  desc = with_swapped_heads(desc);
  if (!is_packed(id)) return desc;
  desc = packed_of(desc);
  return c.sequence_first ? with_swapped_order(desc) : desc;
}

// The kernel whose gradient has this shape.
static KernelId forward_of(const AttentionShape& shape) {
  AttentionCase c{};
  c.biases.resize(shape.bias_count);
  c.dropout = shape.ratio;
  return attention_ids(c)[0];
}

AttentionExpectation::AttentionExpectation(const KernelDesc& desc)
    : desc_(desc) {
  if (!is_bshd(desc.id)) {
    expect();
    return;
  }
  if (is_sequence_first(desc)) desc_ = with_swapped_order(desc_);
  if (is_packed(desc.id)) desc_ = separate_of(desc_);
  desc_ = with_swapped_heads(desc_);
  desc_.id =
      is_forward(desc.id) ? KernelId::attention : KernelId::attention_grad;
  desc_.attributes.resize(2);
  expect();
  swap_heads_of_all();
  if (is_packed(desc.id)) pack_all();
  desc_ = desc;
  if (is_sequence_first(desc)) put_sequences_first();
}

void AttentionExpectation::put_sequences_first() {
  const auto swap = [&](size_t operand, std::vector<double>* values) {
    if (is_sums_of_packed(desc_.id, operand)) return;
    const std::vector<int64_t>& shape = desc_.operands[operand].shape;
    // Rows are whole sets of heads.
    swap_heads({1, shape[1], shape[0], shape[2] * shape[3]}, values);
  };
  for (size_t i = 0; i < inputs_.size(); ++i) swap(i, &inputs_[i]);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    swap(inputs_.size() + i, &outputs_[i]);
    swap(inputs_.size() + i, &bounds_[i]);
  }
}

void AttentionExpectation::swap_heads_of_all() {
  const auto swap = [&](size_t operand, std::vector<double>* values) {
    if (operand != sums_of(desc_))
      swap_heads(desc_.operands[operand].shape, values);
  };
  for (size_t i = 0; i < inputs_.size(); ++i) swap(i, &inputs_[i]);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    swap(inputs_.size() + i, &outputs_[i]);
    swap(inputs_.size() + i, &bounds_[i]);
  }
}

void AttentionExpectation::pack_all() {
  const std::vector<int64_t>& shape = desc_.operands[0].shape;
  const int64_t rows = shape[0] * shape[2];
  pack_heads(rows, is_forward(desc_.id) ? 0 : 1, &inputs_);
  if (is_forward(desc_.id)) return;
  pack_heads(rows, 0, &outputs_);
  pack_heads(rows, 0, &bounds_);
}

void AttentionExpectation::expect() {
  const KernelDesc& desc = desc_;
  const AttentionShape shape = shape_of(desc);
  const bool forward = shape.forward;
  const auto draw = [&](size_t operand) {
    return representable(desc.operands[operand],
                         uniform(static_cast<int>(operand) + 1,
                                 element_count(desc.operands[operand])));
  };
  for (size_t i = 0; i < (forward ? 3u : 4u); ++i) inputs_.push_back(draw(i));
  // Seed and step of a dropout, and the biases.
  std::vector<std::vector<double>> others;
  if (shape.has_dropout) others = {{-7}, {123456789012}};
  for (size_t i = 0; i < shape.bias_count; ++i) {
    others.push_back(draw(shape.first_bias() + i));
    if (static_cast<int64_t>(i) == shape.replacing)
      for (size_t j = 0; j < others.back().size(); j += 2) others.back()[j] = 0;
  }
  if (!forward) {
    const std::vector<TensorDesc>& all = desc.operands;
    KernelDesc first{
        forward_of(shape), {all[1], all[2], all[3]}, desc.attributes};
    std::vector<std::vector<double>> first_inputs = {inputs_[1], inputs_[2],
                                                     inputs_[3]};
    first.operands.insert(
        first.operands.end(), all.begin() + 6,
        all.begin() + 6 + static_cast<int64_t>(others.size()));
    first_inputs.insert(first_inputs.end(), others.begin(), others.end());
    first.operands.insert(first.operands.end(), {all[4], all[5]});
    const std::vector<std::vector<double>> made = exact(first, first_inputs);
    inputs_.push_back(representable(all[4], made[0]));
    inputs_.push_back(in_two_parts(all[5], made[1]));
  }
  inputs_.insert(inputs_.end(), others.begin(), others.end());
  outputs_ = exact(desc, inputs_);
  for (const std::vector<double>& output : outputs_)
    bounds_.emplace_back(output.size(), 0.0);
  if (forward)
    bound_forward();
  else
    bound_gradient();
  if (shape.has_dropout)
    for (size_t o = 0; o < outputs_.size(); ++o)
      for (double& bound : bounds_[o]) bound /= 1 - shape.ratio;
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const mpc_dtype_t dtype = desc.operands[inputs_.size() + o].dtype;
    for (size_t i = 0; i < outputs_[o].size(); ++i)
      bounds_[o][i] +=
          roundoff(dtype) * std::fabs(outputs_[o][i]) + underflow(dtype);
  }
}

// A score is a sum of products. The exponential turns its absolute error into a
// relative one, and the sum of exponentials adds that of the worst score.
void AttentionExpectation::bound_forward() {
  const AttentionShape s = shape_of(desc_);
  const double u = wide_roundoff(s.dtype), narrow = roundoff(s.dtype);
  for_queries(s, [&](int64_t row, int64_t keys, int64_t index) {
    const Query q =
        query_of(s, &inputs_[0][row * s.depth], &inputs_[1][keys * s.depth],
                 index, biases_of(s, inputs_, row));
    const double score =
        2.0 * (s.depth + 2) * u * q.largest_terms + 4 * u * q.largest_score;
    const double sum = 2.0 * (static_cast<double>(q.p.size()) + 8) * u;
    bounds_[1][row] = 2 * score + sum + 4 * u * std::fabs(q.log_sum_exp);
    // The rounding error of the first part, or zero.
    bounds_[1][s.rows() + row] = 2 * u * std::fabs(q.log_sum_exp);
    for (int64_t e = 0; e < s.value_depth; ++e) {
      double& bound = bounds_[0][row * s.value_depth + e];
      for (size_t j = 0; j < q.p.size(); ++j)
        bound +=
            (q.p[j] * (2 * score + 2 * sum + narrow) + underflow(s.dtype)) *
            std::fabs(
                inputs_[2]
                       [(keys + static_cast<int64_t>(j)) * s.value_depth + e]);
    }
  });
}

void AttentionExpectation::bound_gradient() {
  const AttentionShape s = shape_of(desc_);
  const double u = wide_roundoff(s.dtype), narrow = roundoff(s.dtype);
  const double tiny = underflow(s.dtype);
  const int64_t group = s.heads / s.key_heads;
  // Sums over heads may be rounded for each head.
  const double key_terms =
      2.0 * (static_cast<double>(s.queries * group) + 2) * u +
      (group > 1 ? narrow : 0.0);
  // Scores are added to an element of the gradient of the bias one by one.
  const double bias_terms = 2.0 * (static_cast<double>(s.rows()) + 2) * u;
  for_queries(s, [&](int64_t row, int64_t keys, int64_t index) {
    const Query q =
        query_of(s, &inputs_[1][row * s.depth], &inputs_[2][keys * s.depth],
                 index, biases_of(s, inputs_, row));
    const double score = 2.0 * (s.depth + 2) * u * q.largest_terms +
                         4 * u * (q.largest_score + std::fabs(q.log_sum_exp));
    // The sums of exponentials may be rounded.
    const double p_error = 2 * score + 16 * u + narrow;
    // 1 - t^2 changes by at most 2 if t = tanh(x) changes by 1, and t by at
    // most 1 if x = score / softcap does.
    const double slope_error =
        s.softcap > 0 ? 2 * score / s.softcap + 16 * u : 0.0;
    const double* g = &inputs_[0][row * s.value_depth];
    double shared = 0;
    for (int64_t e = 0; e < s.value_depth; ++e)
      shared += std::fabs(g[e] * inputs_[4][row * s.value_depth + e]);
    for (size_t j = 0; j < q.p.size(); ++j) {
      const int64_t at = keys + static_cast<int64_t>(j);
      double p_grad = 0;
      for (int64_t e = 0; e < s.value_depth; ++e)
        p_grad += std::fabs(g[e] * inputs_[3][at * s.value_depth + e]);
      const double unscaled = q.p[j] * (p_grad + shared);
      const double terms =
          q.has_product[j] ? std::fabs(s.scale) * unscaled : 0.0;
      const double relative =
          p_error + slope_error + 2.0 * (s.value_depth + 4) * u + narrow;
      const double error = terms * relative + tiny;
      if (s.has_bias_grad)
        bounds_[3][s.bias_at(0, row / s.queries, index) +
                   static_cast<int64_t>(j)] +=
            unscaled * (relative + bias_terms) + tiny;
      for (int64_t d = 0; d < s.depth; ++d) {
        bounds_[0][row * s.depth + d] +=
            (error + 2.0 * (static_cast<double>(s.keys) + 2) * u * terms) *
            std::fabs(inputs_[2][at * s.depth + d]);
        bounds_[1][at * s.depth + d] +=
            (error + key_terms * terms) *
            std::fabs(inputs_[1][row * s.depth + d]);
      }
      for (int64_t e = 0; e < s.value_depth; ++e)
        bounds_[2][at * s.value_depth + e] +=
            (q.p[j] * (p_error + key_terms) + tiny) * std::fabs(g[e]);
    }
  });
}

void AttentionExpectation::check(const Kernel& kernel) const {
  const std::vector<Buffer> operands = make_operands(desc_, inputs_);
  run(kernel, operands);
  for (size_t o = 0; o < outputs_.size(); ++o) {
    const size_t operand = inputs_.size() + o;
    const std::vector<double> found =
        values_of(desc_.operands[operand], operands[operand]);
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_LE(std::fabs(found[i] - outputs_[o][i]), bounds_[o][i])
          << kernel.implementation() << " element " << i << " of output " << o
          << ": expected " << outputs_[o][i] << ", found " << found[i];
  }
}

namespace {

// Runs the kernel that `make` returns; returns the values of its outputs.
std::vector<std::vector<double>> outputs_of(
    const KernelDesc& desc, const MakeKernel& make,
    const std::vector<std::vector<double>>& inputs) {
  const std::unique_ptr<Kernel> kernel = make(desc);
  const std::vector<Buffer> operands = make_operands(desc, inputs);
  if (kernel) run(*kernel, operands);
  std::vector<std::vector<double>> outputs;
  for (size_t i = inputs.size(); i < operands.size(); ++i)
    outputs.push_back(values_of(desc.operands[i], operands[i]));
  return outputs;
}

// The probabilities of one query, with keys of one number each, so that scores
// are single products. They are read in two ways: as the result, because the
// values are a unit matrix, and as the gradient of the values, for a gradient
// of ones.
struct Probabilities {
  std::vector<double> forward, backward;
};

Probabilities probabilities(mpc_dtype_t dtype, const MakeKernel& make,
                            double query, const std::vector<double>& keys) {
  const size_t count = keys.size();
  const int64_t n = static_cast<int64_t>(count);
  const AttentionCase c{1, 1, 1, 1, n, 1, n, false, 1.0f};
  std::vector<double> unit(count * count);
  for (size_t i = 0; i < count; ++i) unit[i * count + i] = 1;
  const KernelDesc forward =
      attention_desc(KernelId::attention, c, dtype, dtype);
  const auto made = outputs_of(forward, make, {{query}, keys, unit});
  const KernelDesc backward =
      attention_desc(KernelId::attention_grad, c, dtype, dtype);
  const auto grads = outputs_of(
      backward, make,
      {std::vector<double>(count, 1), {query}, keys, unit, made[0], made[1]});
  Probabilities result{made[0], {}};
  for (size_t i = 0; i < count; ++i)
    result.backward.push_back(grads[2][i * count]);
  return result;
}

}  // namespace

void expect_exact_for_large_scores(mpc_dtype_t dtype, const MakeKernel& make) {
  // Keys are 1 and some units in the last place: products are exact.
  const bool narrow = dtype != MPC_DTYPE_F32 && dtype != MPC_DTYPE_F64;
  const double unit = dtype == MPC_DTYPE_BF16  ? 0x1p-7
                      : dtype == MPC_DTYPE_F16 ? 0x1p-10
                                               : 0x1p-23;
  std::vector<double> equal(21, 1.0), apart;
  for (int i = 0; i < 21; ++i) apart.push_back(1 + i * unit);
  // In f16 the queries must be finite.
  for (const int exponent : {0, 7, 14, 15, 17, 20, 27, 33, 100, 126})
    for (const double sign : {1.0, -1.0})
      for (const std::vector<double>& keys : {equal, apart}) {
        if (dtype == MPC_DTYPE_F16 && exponent > 15) continue;
        const double query = sign * std::ldexp(1.0, exponent);
        SCOPED_TRACE(std::string(mpc_dtype_name(dtype)) + ", scores from " +
                     std::to_string(query * keys.front()) + " to " +
                     std::to_string(query * keys.back()));
        const double largest = query * (sign > 0 ? keys.back() : keys.front());
        double sum = 0;
        for (double key : keys) sum += std::exp(query * key - largest);
        const Probabilities p = probabilities(dtype, make, query, keys);
        for (size_t i = 0; i < keys.size(); ++i) {
          const double distance = largest - query * keys[i];
          const double wanted = std::exp(-distance) / sum;
          // Roundings of the difference, of the exponential (two units), of
          // the sum and the quotient, or of the logarithm.
          const double bound =
              wanted * (8 * 0x1p-24 * std::max(1.0, distance + std::log(sum)) +
                        (narrow ? 2 * roundoff(dtype) : 0.0)) +
              underflow(dtype);
          EXPECT_NEAR(p.forward[i], wanted, bound) << "forward, key " << i;
          EXPECT_NEAR(p.backward[i], wanted, bound) << "gradient, key " << i;
        }
      }
}

void expect_zeros_for_empty_rows(mpc_dtype_t dtype, const MakeKernel& make) {
  // The middle query's products overflow.
  const AttentionCase c{1, 1, 1, 3, 2, 1, 2, false, 1.0f};
  const double huge = 0x1p100;
  const std::vector<std::vector<double>> operands = {
      {0x1p-100, -huge, 0}, {huge, huge}, {1, 2, 3, 4}};
  const KernelDesc forward =
      attention_desc(KernelId::attention, c, dtype, dtype);
  const auto made = outputs_of(forward, make, operands);
  EXPECT_EQ(made[0], (std::vector<double>{2, 3, 0, 0, 2, 3}));
  const KernelDesc backward =
      attention_desc(KernelId::attention_grad, c, dtype, dtype);
  const auto grads = outputs_of(backward, make,
                                {{1, 0, 5, 7, 0, 1},
                                 operands[0],
                                 operands[1],
                                 operands[2],
                                 made[0],
                                 made[1]});
  EXPECT_EQ(grads[0][1], 0);
  EXPECT_EQ(grads[2], (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
  // Only the first query: 2^-100 * p * (v - result), with p = 1/2.
  EXPECT_EQ(grads[1], (std::vector<double>{-0x1p-101, 0x1p-101}));
}

void expect_hidden_keys(mpc_dtype_t dtype, const MakeKernel& make) {
  const AttentionCase c{1, 1, 1,     3,    2,
                        1, 2, false, 1.0f, {{false, false, true}}};
  const double inf = std::numeric_limits<double>::infinity();
  const double lowest = std::numeric_limits<float>::lowest();
  const std::vector<std::vector<double>> operands = {
      {1, 1, 2}, {1, 5}, {1, 2, 3, 4}};
  const std::vector<double> bias = {-1, -inf, -inf, -inf, lowest, lowest};
  const KernelDesc forward =
      attention_desc(KernelId::biased_attention, c, dtype, dtype);
  const auto made =
      outputs_of(forward, make, {operands[0], operands[1], operands[2], bias});
  EXPECT_EQ(made[0], (std::vector<double>{1, 2, 0, 0, 2, 3}));
  const KernelDesc backward =
      attention_desc(KernelId::biased_attention_grad_all, c, dtype, dtype);
  const auto grads = outputs_of(backward, make,
                                {{1, 2, 5, 7, 0, 1},
                                 operands[0],
                                 operands[1],
                                 operands[2],
                                 made[0],
                                 made[1],
                                 bias});
  // The last query's probabilities are 1/2, so the score gradients are 1/2 (3 -
  // 2 - ...): 1/2 (2 - 3) and 1/2 (4 - 3).
  EXPECT_EQ(grads[0], (std::vector<double>{0, 0, -0.5 * 1 + 0.5 * 5}));
  EXPECT_EQ(grads[1], (std::vector<double>{-1, 1}));
  EXPECT_EQ(grads[2], (std::vector<double>{1, 2.5, 0, 0.5}));
  EXPECT_EQ(grads[3], (std::vector<double>{0, 0, 0, 0, -0.5, 0.5}));
}

}  // namespace mpc::kernels::testing
