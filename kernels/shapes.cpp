#include "kernels/shapes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/descriptions/checks.h"
#include "kernels/float_types.h"
#include "kernels/observation.h"

namespace mpc::kernels {
namespace {

constexpr size_t kMaxRank = 8;

struct Entry {
  const char* name;
  size_t operands;
};

Entry entry(KernelId id) {
  switch (id) {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) \
  case KernelId::name:                                    \
    return {#name, inputs + outputs};
#include "kernels/catalog.def"
  }
  return {nullptr, 0};
}

bool is_fp8(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F8E4M3 || dtype == MPC_DTYPE_F8E5M2;
}

bool moves_bytes(KernelId id) {
  return id == KernelId::copy || id == KernelId::zero;
}

// Computes the size of a tensor in bytes; false if it exceeds the address
// space.
bool tensor_bytes(const TensorDesc& tensor, size_t* bytes) {
  size_t product = mpc_dtype_size(tensor.dtype);
  for (int64_t extent : tensor.shape)
    if (__builtin_mul_overflow(product, static_cast<size_t>(extent), &product))
      return false;
  *bytes = product;
  return product <= static_cast<size_t>(std::numeric_limits<int64_t>::max());
}

bool read_geometry(Attributes* attributes, size_t dims, Window* window) {
  return attributes->read("strides", 1, 1, dims, &window->strides) &&
         attributes->read("dilations", 1, 1, dims, &window->dilations) &&
         attributes->read("pads_begin", 0, 0, dims, &window->pads_begin) &&
         attributes->read("pads_end", 0, 0, dims, &window->pads_end);
}

// The dimensions of an image operand.
struct Image {
  int64_t batch, channels;
  std::array<int64_t, 2> extent;
  Image(const TensorDesc& tensor, bool channels_last) {
    const std::vector<int64_t>& s = tensor.shape;
    const size_t spatial = channels_last ? 1 : 2, dims = s.size() - 2;
    batch = s[0];
    channels = channels_last ? s.back() : s[1];
    extent = {dims == 2 ? s[spatial] : 1, s[spatial + dims - 1]};
  }
};

int64_t dilated(const Window& window, int dim) {
  return window.dilations[dim] * (window.kernel[dim] - 1) + 1;
}

// Checks that the window fits and gives a result of this extent.
bool check_result(const KernelDesc& desc, const Window& window,
                  std::array<int64_t, 2> input, std::array<int64_t, 2> output,
                  std::string* error) {
  for (int d = 0; d < 2; ++d) {
    const int64_t room = input[d] + window.pads_begin[d] + window.pads_end[d] -
                         dilated(window, d);
    if (room < 0)
      return fail(desc, error,
                  "a window of " + text(dilated(window, d)) +
                      " does not fit an image of " + text(input[d]) +
                      " with its pads");
    const int64_t expected = room / window.strides[d] + 1;
    if (expected != output[d])
      return fail(desc, error,
                  "the result must have extent " + text(expected) +
                      " in spatial dimension " + text(d) + " of 2, found " +
                      text(output[d]));
  }
  return true;
}

// Appends a dimension of the batch, or merges it into the last one if both
// broadcast alike.
bool append_batch(const KernelDesc& desc, int64_t lhs, int64_t rhs,
                  std::vector<BatchDim>* batch, std::string* error) {
  if (lhs != rhs && lhs != 1 && rhs != 1)
    return fail(desc, error,
                "leading dimensions " + text(desc.operands[0].shape) + " and " +
                    text(desc.operands[1].shape) + " do not broadcast");
  const int64_t extent = std::max(lhs, rhs);
  if (extent == 1) return true;
  const BatchDim dim{extent, lhs != 1, rhs != 1};
  if (!batch->empty() && batch->back().in_lhs == dim.in_lhs &&
      batch->back().in_rhs == dim.in_rhs)
    batch->back().extent *= extent;
  else
    batch->push_back(dim);
  return true;
}

// The operand indices of a convolution's input, weight and output in the
// forward operation.
struct ConvRoles {
  size_t input, weight, output;
};

ConvRoles conv_roles(KernelId id) {
  switch (id) {
    case KernelId::conv_bias:
      return {0, 1, 3};
    case KernelId::conv_grad_input:
      return {2, 1, 0};
    case KernelId::conv_grad_weight:
      return {1, 2, 0};
    default:
      return {0, 1, 2};
  }
}

bool check_conv_dtypes(const KernelDesc& desc, ConvShape* shape,
                       std::string* error) {
  if (!check_float(desc, 2, error)) return false;
  shape->dtype = desc.operands[0].dtype;
  const mpc_dtype_t sum = sum_dtype(shape->dtype);
  const size_t result = desc.operands.size() - 1;
  const bool to_weight = desc.id == KernelId::conv_grad_weight;
  if (!check_dtype(desc, result, to_weight ? sum : shape->dtype, sum, error))
    return false;
  shape->result_dtype = desc.operands[result].dtype;
  shape->has_bias = desc.id == KernelId::conv_bias;
  shape->bias_dtype = sum;
  if (!shape->has_bias) return true;
  if (!check_dtype(desc, 2, shape->dtype, sum, error)) return false;
  shape->bias_dtype = desc.operands[2].dtype;
  return true;
}

bool check_channels(const KernelDesc& desc, const ConvShape& shape,
                    const std::vector<int64_t>& weight, int64_t output_batch,
                    std::string* error) {
  if (output_batch != shape.batch)
    return fail(desc, error,
                "input and result have batches of " + text(shape.batch) +
                    " and " + text(output_batch));
  if (shape.output_channels % shape.group != 0 ||
      shape.input_channels % shape.group != 0)
    return fail(desc, error,
                "group " + text(shape.group) + " does not divide " +
                    text(shape.input_channels) + " and " +
                    text(shape.output_channels) + " channels");
  if (weight[0] != shape.output_channels ||
      weight[1] != shape.input_channels / shape.group)
    return fail(desc, error,
                "a weight of " + text(weight) + " does not map " +
                    text(shape.input_channels) + " to " +
                    text(shape.output_channels) + " channels in " +
                    text(shape.group) + " groups");
  if (shape.has_bias &&
      desc.operands[2].shape != std::vector<int64_t>{shape.output_channels})
    return fail(desc, error,
                "the bias must have shape [" + text(shape.output_channels) +
                    "], found " + text(desc.operands[2].shape));
  return true;
}

bool is_max(KernelId id) {
  return id == KernelId::max_pool || id == KernelId::max_pool_grad;
}

bool check_pool_operands(const KernelDesc& desc, PoolShape* shape,
                         std::string* error) {
  const bool forward =
      desc.id == KernelId::max_pool || desc.id == KernelId::average_pool;
  const size_t rank = desc.operands[0].shape.size();
  if (rank != 3 && rank != 4)
    return fail(desc, error,
                "images must have rank 3 or 4, found " + std::to_string(rank));
  for (size_t i = 1; i < desc.operands.size(); ++i)
    if (!check_rank(desc, i, rank, error)) return false;
  if (!check_float(desc, 1, error)) return false;
  shape->dtype = desc.operands[0].dtype;
  // max_pool: input, result, indices; max_pool_grad: grad, indices, result.
  const size_t indices = forward ? 2 : 1,
               other = is_max(desc.id) && !forward ? 2 : 1;
  if (!check_dtype(desc, other, shape->dtype, shape->dtype, error))
    return false;
  if (is_max(desc.id)) {
    if (!check_dtype(desc, indices, MPC_DTYPE_U8, MPC_DTYPE_U8, error))
      return false;
    const size_t result = forward ? 1 : 0;
    if (desc.operands[indices].shape != desc.operands[result].shape)
      return fail(desc, error,
                  "indices must have shape " +
                      text(desc.operands[result].shape) + ", found " +
                      text(desc.operands[indices].shape));
  }
  const Image input(desc.operands[forward ? 0 : other], shape->channels_last);
  const Image output(desc.operands[forward ? other : 0], shape->channels_last);
  if (input.batch != output.batch || input.channels != output.channels)
    return fail(desc, error, "input and result differ in batch or channels");
  shape->batch = input.batch;
  shape->channels = input.channels;
  shape->input = input.extent;
  shape->output = output.extent;
  return true;
}

// Checks that every window contains at least one element of the image.
bool check_pool_window(const KernelDesc& desc, const PoolShape& shape,
                       std::string* error) {
  const Window& window = shape.window;
  for (int d = 0; d < 2; ++d) {
    if (std::max(window.pads_begin[d], window.pads_end[d]) >=
        dilated(window, d))
      return fail(desc, error, "each pad must be smaller than the window");
    if (window.kernel[d] > 1 && window.dilations[d] > shape.input[d])
      return fail(desc, error,
                  "a dilation of " + text(window.dilations[d]) +
                      " is larger than the image");
  }
  // Both are below 2^31, so the product does not overflow.
  if (is_max(desc.id) && window.kernel[0] * window.kernel[1] > 255)
    return fail(desc, error,
                "a window has at most 255 elements, found " +
                    text(window.kernel[0] * window.kernel[1]));
  return true;
}

}  // namespace

const char* kernel_name(KernelId id) { return entry(id).name; }

bool check_description(const KernelDesc& desc, std::string* error) {
  const Entry known = entry(desc.id);
  if (!known.name)
    return fail(desc, error,
                "no kernel has number " +
                    std::to_string(static_cast<uint32_t>(desc.id)));
  if (desc.operands.size() != known.operands)
    return fail(desc, error,
                "needs " + std::to_string(known.operands) +
                    " operands, found " + std::to_string(desc.operands.size()));
  for (size_t i = 0; i < desc.operands.size(); ++i) {
    const TensorDesc& tensor = desc.operands[i];
    const std::string name = "operand " + std::to_string(i);
    if (mpc_dtype_size(tensor.dtype) == 0)
      return fail(desc, error,
                  name + " has no dtype: " +
                      std::to_string(static_cast<int>(tensor.dtype)));
    if (tensor.shape.size() > kMaxRank)
      return fail(desc, error,
                  name + " has rank " + std::to_string(tensor.shape.size()) +
                      ", at most " + std::to_string(kMaxRank) +
                      " is supported");
    const int64_t low = moves_bytes(desc.id) ? 0 : 1;
    const int64_t high =
        moves_bytes(desc.id) ? std::numeric_limits<int64_t>::max() : kMaxExtent;
    for (int64_t extent : tensor.shape)
      if (extent < low || extent > high)
        return fail(desc, error,
                    name + " has shape " + text(tensor.shape) +
                        ", extents must be in " + text(low) + ".." +
                        text(high));
    size_t bytes;
    if (!tensor_bytes(tensor, &bytes))
      return fail(desc, error,
                  name + " of shape " + text(tensor.shape) +
                      " is larger than the address space");
  }
  return true;
}

bool check_product(const KernelDesc& desc, std::string* error) {
  const mpc_dtype_t dtype = desc.operands[0].dtype;
  return check_float(desc, 2, error) &&
         check_dtype(desc, 2, dtype, sum_dtype(dtype), error);
}

// Checks an operand that must have a shape.
bool check_shape(const KernelDesc& desc, size_t operand, const char* name,
                 const std::vector<int64_t>& shape, std::string* error) {
  const std::vector<int64_t>& found = desc.operands[operand].shape;
  return found == shape ||
         fail(desc, error,
              std::string("the ") + name + " must have shape " + text(shape) +
                  ", found " + text(found));
}

// Addend and result have the type of sums and the same shape.
bool check_sum(const KernelDesc& desc, std::string* error) {
  const mpc_dtype_t sum = sum_dtype(desc.operands[0].dtype);
  return check_float(desc, 2, error) && check_dtype(desc, 2, sum, sum, error) &&
         check_dtype(desc, 3, sum, sum, error) &&
         check_shape(desc, 2, "addend", desc.operands[3].shape, error);
}

// All operands have one type; factors are matrices.
bool check_epilogue(const KernelDesc& desc, std::string* error) {
  if (!check_float(desc, desc.operands.size(), error)) return false;
  for (size_t i : {0, 1, 3})
    if (desc.operands[i].shape.size() != 2)
      return fail(desc, error,
                  "operand " + std::to_string(i) + " must be a matrix, found " +
                      text(desc.operands[i].shape));
  const std::vector<int64_t>& result = desc.operands[3].shape;
  if (desc.id == KernelId::matmul_gelu_grad)
    return check_shape(desc, 2, "argument", result, error);
  return (desc.id != KernelId::matmul_gelu ||
          check_shape(desc, 4, "argument", result, error)) &&
         check_shape(desc, 2, "bias", {result.back()}, error);
}

bool check_fp8_product(const KernelDesc& desc, std::string* error) {
  const mpc_dtype_t other = desc.operands[0].dtype == MPC_DTYPE_F8E4M3
                                ? MPC_DTYPE_F8E5M2
                                : MPC_DTYPE_F8E4M3;
  return check_dtype(desc, 1, MPC_DTYPE_F8E4M3, other, error) &&
         check_dtype(desc, desc.operands.size() - 1, MPC_DTYPE_BF16,
                     MPC_DTYPE_F32, error);
}

// Checks the factors, which follow the operands of a scaled product.
bool check_factors(const KernelDesc& desc, std::string* error) {
  for (size_t i = 2; i < 4; ++i) {
    if (!check_dtype(desc, i, MPC_DTYPE_F32, MPC_DTYPE_F32, error))
      return false;
    for (int64_t extent : desc.operands[i].shape)
      if (extent != 1)
        return fail(desc, error,
                    "operand " + std::to_string(i) +
                        " must be one factor, found shape " +
                        text(desc.operands[i].shape));
  }
  return true;
}

bool check_matmul_dtypes(const KernelDesc& desc, const MatmulShape& shape,
                         std::string* error) {
  if (shape.epilogue == Epilogue::kAdd) return check_sum(desc, error);
  if (shape.epilogue != Epilogue::kNone) return check_epilogue(desc, error);
  if (shape.scaled &&
      !(check_dtype(desc, 0, MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2, error) &&
        check_factors(desc, error)))
    return false;
  return is_fp8(desc.operands[0].dtype) ? check_fp8_product(desc, error)
                                        : check_product(desc, error);
}

static Epilogue epilogue_of(KernelId id) {
  switch (id) {
    case KernelId::matmul_add:
      return Epilogue::kAdd;
    case KernelId::matmul_bias:
      return Epilogue::kBias;
    case KernelId::matmul_gelu:
      return Epilogue::kGelu;
    case KernelId::matmul_gelu_grad:
      return Epilogue::kGeluGrad;
    default:
      return Epilogue::kNone;
  }
}

bool parse_matmul(const KernelDesc& desc, MatmulShape* shape,
                  std::string* error) {
  Attributes attributes(desc, error);
  shape->scaled = desc.id == KernelId::scaled_matmul;
  shape->epilogue = epilogue_of(desc.id);
  if (!attributes.expect(2, shape->scaled ? 0 : 1) ||
      !attributes.read("transpose_lhs", &shape->transpose_lhs) ||
      !attributes.read("transpose_rhs", &shape->transpose_rhs) ||
      !attributes.read_tf32(&shape->tf32) ||
      !check_matmul_dtypes(desc, *shape, error))
    return false;
  const TensorDesc& result = desc.operands[shape->result_operand()];
  shape->dtype = desc.operands[0].dtype;
  shape->rhs_dtype = desc.operands[1].dtype;
  shape->result_dtype = result.dtype;

  std::vector<int64_t> lhs = desc.operands[0].shape;
  std::vector<int64_t> rhs = desc.operands[1].shape;
  for (size_t i = 0; i < 2; ++i)
    if (desc.operands[i].shape.size() < 2)
      return fail(desc, error,
                  "operand " + std::to_string(i) +
                      " must have rank 2 or more, found " +
                      std::to_string(desc.operands[i].shape.size()));
  const size_t rank = std::max(lhs.size(), rhs.size());
  lhs.insert(lhs.begin(), rank - lhs.size(), 1);
  rhs.insert(rhs.begin(), rank - rhs.size(), 1);
  if (shape->transpose_lhs) std::swap(lhs[rank - 2], lhs[rank - 1]);
  if (shape->transpose_rhs) std::swap(rhs[rank - 2], rhs[rank - 1]);
  shape->m = lhs[rank - 2];
  shape->k = lhs[rank - 1];
  shape->n = rhs[rank - 1];
  if (rhs[rank - 2] != shape->k)
    return fail(desc, error,
                "the summed extents " + text(shape->k) + " and " +
                    text(rhs[rank - 2]) + " differ");

  shape->batch.clear();
  std::vector<int64_t> expected;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (!append_batch(desc, lhs[i], rhs[i], &shape->batch, error)) return false;
    expected.push_back(std::max(lhs[i], rhs[i]));
  }
  expected.push_back(shape->m);
  expected.push_back(shape->n);
  return result.shape == expected ||
         fail(desc, error,
              "the result must have shape " + text(expected) + ", found " +
                  text(result.shape));
}

bool computes_in_memory_type(const MatmulShape& shape, std::string* error) {
  if (!is_fp8(shape.dtype)) return true;
  *error = std::string(shape.scaled ? "scaled_matmul" : "matmul") +
           ": operands of " + mpc_dtype_name(shape.dtype) +
           " are multiplied by GPUs alone; programs for CPUs widen them";
  return false;
}

bool parse_conv(const KernelDesc& desc, ConvShape* shape, std::string* error) {
  const ConvRoles roles = conv_roles(desc.id);
  const size_t rank = desc.operands[0].shape.size();
  if (rank != 3 && rank != 4)
    return fail(desc, error,
                "images must have rank 3 or 4, found " + std::to_string(rank));
  if (!check_rank(desc, 1, rank, error) ||
      !check_rank(desc, desc.operands.size() - 1, rank, error) ||
      !check_conv_dtypes(desc, shape, error))
    return false;

  const size_t dims = rank - 2;
  Attributes attributes(desc, error);
  if (!attributes.expect(2 + 4 * dims, 1) ||
      !attributes.read("channels_last", &shape->channels_last) ||
      !attributes.read("group", 1, kMaxExtent, &shape->group) ||
      !read_geometry(&attributes, dims, &shape->window) ||
      !attributes.read_tf32(&shape->tf32))
    return false;

  const Image input(desc.operands[roles.input], shape->channels_last);
  const Image output(desc.operands[roles.output], shape->channels_last);
  const std::vector<int64_t>& weight = desc.operands[roles.weight].shape;
  shape->batch = input.batch;
  shape->input_channels = input.channels;
  shape->output_channels = output.channels;
  shape->input = input.extent;
  shape->output = output.extent;
  shape->window.kernel = {dims == 2 ? weight[2] : 1, weight.back()};
  return check_channels(desc, *shape, weight, output.batch, error) &&
         check_result(desc, shape->window, shape->input, shape->output, error);
}

bool parse_pool(const KernelDesc& desc, PoolShape* shape, std::string* error) {
  const size_t rank = desc.operands[0].shape.size();
  const size_t dims = rank == 3 ? 1 : 2, flags = is_max(desc.id) ? 1 : 2;
  Attributes attributes(desc, error);
  shape->count_include_pad = false;
  if (!attributes.expect(flags + 5 * dims) ||
      !attributes.read("channels_last", &shape->channels_last) ||
      (!is_max(desc.id) &&
       !attributes.read("count_include_pad", &shape->count_include_pad)) ||
      !attributes.read("kernel_shape", 1, 1, dims, &shape->window.kernel) ||
      !read_geometry(&attributes, dims, &shape->window))
    return false;
  return check_pool_operands(desc, shape, error) &&
         check_pool_window(desc, *shape, error) &&
         check_result(desc, shape->window, shape->input, shape->output, error);
}

bool parse_embedding(const KernelDesc& desc, EmbeddingShape* shape,
                     std::string* error) {
  Attributes attributes(desc, error);
  if (!attributes.expect(0) || !check_float(desc, 1, error) ||
      !check_dtype(desc, 1, MPC_DTYPE_I64, MPC_DTYPE_I32, error))
    return false;
  shape->dtype = desc.operands[0].dtype;
  shape->index_dtype = desc.operands[1].dtype;
  const bool forward = desc.id == KernelId::embedding;
  const mpc_dtype_t result = forward ? shape->dtype : sum_dtype(shape->dtype);
  if (!check_dtype(desc, 2, result, result, error)) return false;

  // The shape of the result is that of the indices followed by that of a row.
  const size_t table = forward ? 0 : 2, rows = forward ? 2 : 0;
  const std::vector<int64_t>& of_table = desc.operands[table].shape;
  if (of_table.empty())
    return fail(desc, error,
                "operand " + std::to_string(table) +
                    " must have rank 1 or more, found 0");
  std::vector<int64_t> expected = desc.operands[1].shape;
  expected.insert(expected.end(), of_table.begin() + 1, of_table.end());
  if (desc.operands[rows].shape != expected)
    return fail(desc, error,
                "operand " + std::to_string(rows) + " must have shape " +
                    text(expected) + ", found " +
                    text(desc.operands[rows].shape));
  shape->rows = of_table[0];
  shape->width = std::accumulate(of_table.begin() + 1, of_table.end(),
                                 int64_t{1}, std::multiplies<>());
  const std::vector<int64_t>& indices = desc.operands[1].shape;
  shape->count = std::accumulate(indices.begin(), indices.end(), int64_t{1},
                                 std::multiplies<>());
  return true;
}

bool parse_observe(const KernelDesc& desc, ObserveShape* shape,
                   std::string* error) {
  Attributes attributes(desc, error);
  const bool looks = desc.id == KernelId::observe;
  if (!attributes.expect(0) || !check_float(desc, 1, error)) return false;
  const TensorDesc &input = desc.operands[0], &other = desc.operands[1];
  if (!looks && (!is_float(other.dtype) || other.shape != input.shape))
    return fail(desc, error,
                "operand 1 must be a float of shape " + text(input.shape) +
                    ", found " + mpc_dtype_name(other.dtype) + " of " +
                    text(other.shape));
  const size_t result = looks ? 1 : 2;
  const std::vector<int64_t> row = {looks ? kObservationWidth : kRoundingWidth};
  if (!check_dtype(desc, result, MPC_DTYPE_F64, MPC_DTYPE_F64, error))
    return false;
  if (desc.operands[result].shape != row)
    return fail(desc, error,
                "operand " + std::to_string(result) + " must have shape " +
                    text(row) + ", found " + text(desc.operands[result].shape));
  shape->dtype = input.dtype;
  shape->gradient_dtype = looks ? input.dtype : other.dtype;
  shape->count = std::accumulate(input.shape.begin(), input.shape.end(),
                                 int64_t{1}, std::multiplies<>());
  return true;
}

bool parse_bytes(const KernelDesc& desc, size_t* bytes, std::string* error) {
  Attributes attributes(desc, error);
  if (!attributes.expect(0)) return false;
  if (!tensor_bytes(desc.operands.back(), bytes))
    return fail(desc, error, "the result is larger than the address space");
  size_t from = *bytes;
  if (desc.operands.size() == 2 &&
      (!tensor_bytes(desc.operands[0], &from) || from != *bytes))
    return fail(desc, error,
                "input and result must have as many bytes, found " +
                    std::to_string(from) + " and " + std::to_string(*bytes));
  return true;
}

bool parse_mean_over_ranks(const KernelDesc& desc, size_t* bytes,
                           std::string* error) {
  return check_dtype(desc, 0, MPC_DTYPE_F32, MPC_DTYPE_F64, error) &&
         check_dtype(desc, 1, desc.operands[0].dtype, desc.operands[0].dtype,
                     error) &&
         parse_bytes(desc, bytes, error);
}

Taps window_taps(const Window& window, int dim, int64_t input, int64_t index) {
  const int64_t dilation = window.dilations[dim];
  const int64_t start = index * window.strides[dim] - window.pads_begin[dim];
  const int64_t first = start < 0 ? (-start + dilation - 1) / dilation : 0;
  const int64_t end = start < input ? (input - 1 - start) / dilation + 1 : 0;
  return {start, std::min(first, window.kernel[dim]),
          std::min(end, window.kernel[dim])};
}

}  // namespace mpc::kernels
