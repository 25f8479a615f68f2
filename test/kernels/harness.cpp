#include "test/kernels/harness.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/cpu/cpu.h"
#include "kernels/float_types.h"

namespace mpc::kernels::testing {
namespace {

constexpr size_t kGuard = 256;
constexpr unsigned char kRubbish = 0xfb;  // NaN in every float.

bool is_float(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F32 || dtype == MPC_DTYPE_F64 ||
         dtype == MPC_DTYPE_F16 || dtype == MPC_DTYPE_BF16;
}

template <typename T>
void store_all(const std::vector<double>& values, void* to) {
  for (size_t i = 0; i < values.size(); ++i)
    static_cast<T*>(to)[i] = T(static_cast<float>(values[i]));
}

template <typename T>
std::vector<double> load_all(const void* from, size_t count) {
  std::vector<double> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<double>(static_cast<const T*>(from)[i]);
  return values;
}

template <typename T>
void store_integers(const std::vector<double>& values, void* to) {
  for (size_t i = 0; i < values.size(); ++i)
    static_cast<T*>(to)[i] = static_cast<T>(values[i]);
}

std::vector<double> absolute(std::vector<double> values) {
  for (double& value : values) value = std::fabs(value);
  return values;
}

// Inputs that the dtypes of the description can hold.
std::vector<std::vector<double>> representable_inputs(const KernelDesc& desc) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i) {
    const TensorDesc& tensor = desc.operands[i];
    const Buffer buffer = make_tensor(
        tensor, is_float(tensor.dtype)
                    ? uniform(static_cast<int>(i) + 1, element_count(tensor))
                    : indices_for(desc));
    inputs.push_back(values_of(tensor, buffer));
  }
  return inputs;
}

// Inputs, expected results and error bounds.
struct Expectation {
  Expectation(const KernelDesc& desc, int terms)
      : desc(desc), inputs(representable_inputs(desc)) {
    std::vector<std::vector<double>> magnitudes;
    for (size_t i = 0; i < inputs.size(); ++i)
      magnitudes.push_back(
          is_float(desc.operands[i].dtype) ? absolute(inputs[i]) : inputs[i]);
    outputs = exact(desc, inputs);
    bounds = exact(desc, magnitudes);
    const bool wide = desc.operands[0].dtype == MPC_DTYPE_F64;
    const double u_sum = roundoff(wide ? MPC_DTYPE_F64 : MPC_DTYPE_F32);
    for (size_t o = 0; o < outputs.size(); ++o) {
      const mpc_dtype_t dtype = desc.operands[inputs.size() + o].dtype;
      const double u_out = roundoff(dtype);
      // Half of the smallest f16; other formats have numbers below 1e-37.
      const double underflow = dtype == MPC_DTYPE_F16 ? 0x1p-25 : 0x1p-126;
      for (size_t i = 0; i < outputs[o].size(); ++i)
        bounds[o][i] = 2.0 * (terms + 2) * u_sum * bounds[o][i] +
                       u_out * std::fabs(outputs[o][i]) + underflow;
    }
  }

  void check(const Kernel& kernel) const {
    const std::vector<Buffer> operands = make_operands(desc, inputs);
    run(kernel, operands);
    for (size_t o = 0; o < outputs.size(); ++o) {
      const size_t operand = inputs.size() + o;
      const std::vector<double> found =
          values_of(desc.operands[operand], operands[operand]);
      for (size_t i = 0; i < found.size(); ++i)
        ASSERT_LE(std::fabs(found[i] - outputs[o][i]), bounds[o][i])
            << kernel.implementation() << " element " << i << " of output " << o
            << ": expected " << outputs[o][i] << ", found " << found[i];
    }
  }

  const KernelDesc& desc;
  std::vector<std::vector<double>> inputs, outputs, bounds;
};

}  // namespace

Buffer::Buffer(size_t bytes)
    : data_(static_cast<unsigned char*>(
          std::aligned_alloc(64, (bytes + kGuard + 63) / 64 * 64))),
      bytes_(bytes) {
  std::memset(data_, kRubbish, bytes + kGuard);
}

Buffer::~Buffer() { std::free(data_); }

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

bool Buffer::intact() const {
  for (size_t i = 0; i < kGuard; ++i)
    if (data_[bytes_ + i] != kRubbish) return false;
  return true;
}

bool Buffer::operator==(const Buffer& other) const {
  return bytes_ == other.bytes_ && !std::memcmp(data_, other.data_, bytes_);
}

size_t element_count(const TensorDesc& desc) {
  size_t count = 1;
  for (int64_t extent : desc.shape) count *= static_cast<size_t>(extent);
  return count;
}

Buffer make_tensor(const TensorDesc& desc, const std::vector<double>& values) {
  Buffer buffer(element_count(desc) * mpc_dtype_size(desc.dtype));
  switch (desc.dtype) {
    case MPC_DTYPE_F32:
      store_all<float>(values, buffer.data());
      break;
    case MPC_DTYPE_F16:
      store_all<F16>(values, buffer.data());
      break;
    case MPC_DTYPE_BF16:
      store_all<Bf16>(values, buffer.data());
      break;
    case MPC_DTYPE_U8:
      store_all<uint8_t>(values, buffer.data());
      break;
    case MPC_DTYPE_I32:
      store_integers<int32_t>(values, buffer.data());
      break;
    case MPC_DTYPE_I64:
      store_integers<int64_t>(values, buffer.data());
      break;
    default:
      std::memcpy(buffer.data(), values.data(), values.size() * sizeof(double));
  }
  return buffer;
}

std::vector<double> values_of(const TensorDesc& desc, const Buffer& buffer) {
  const size_t count = element_count(desc);
  switch (desc.dtype) {
    case MPC_DTYPE_F32:
      return load_all<float>(buffer.data(), count);
    case MPC_DTYPE_F16:
      return load_all<F16>(buffer.data(), count);
    case MPC_DTYPE_BF16:
      return load_all<Bf16>(buffer.data(), count);
    case MPC_DTYPE_U8:
      return load_all<uint8_t>(buffer.data(), count);
    case MPC_DTYPE_I32:
      return load_all<int32_t>(buffer.data(), count);
    case MPC_DTYPE_I64:
      return load_all<int64_t>(buffer.data(), count);
    default:
      return load_all<double>(buffer.data(), count);
  }
}

std::vector<double> eighths(int operand, size_t count) {
  std::vector<double> values(count);
  uint32_t state = static_cast<uint32_t>(operand) + 1;
  for (double& value : values) {
    state = state * 1664525 + 1013904223;
    value = (static_cast<int>((state >> 16) % 65) - 32) / 8.0;
  }
  return values;
}

std::vector<double> uniform(int seed, size_t count) {
  std::vector<double> values(count);
  uint64_t state = static_cast<uint64_t>(seed) * 0x9e3779b97f4a7c15u;
  for (double& value : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(state >> 11) * 0x1p-52 - 1.0;
  }
  return values;
}

std::vector<double> indices_for(const KernelDesc& desc) {
  const size_t table = desc.id == KernelId::embedding ? 0 : 2;
  const int64_t rows = desc.operands[table].shape[0];
  std::vector<double> indices = uniform(9, element_count(desc.operands[1]));
  for (double& index : indices)
    index = std::floor(index * static_cast<double>(rows));
  // A run of equal indices in every case that is large enough.
  for (size_t i = 0; i < indices.size() / 3; ++i) indices[2 * i] = indices[0];
  return indices;
}

size_t input_count(const KernelDesc& desc) {
  switch (desc.id) {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) \
  case KernelId::name:                                    \
    return inputs;
#include "kernels/catalog.def"
  }
  return 0;
}

std::vector<Buffer> make_operands(const KernelDesc& desc,
                                  const std::vector<std::vector<double>>& in) {
  std::vector<Buffer> operands;
  for (size_t i = 0; i < desc.operands.size(); ++i) {
    const TensorDesc& tensor = desc.operands[i];
    if (i < in.size())
      operands.push_back(make_tensor(tensor, in[i]));
    else
      operands.emplace_back(element_count(tensor) *
                            mpc_dtype_size(tensor.dtype));
  }
  return operands;
}

void run(const Kernel& kernel, const std::vector<Buffer>& operands) {
  std::vector<void*> pointers;
  for (const Buffer& operand : operands) pointers.push_back(operand.data());
  const Buffer scratch(kernel.scratch_bytes());
  ASSERT_TRUE(kernel.run(pointers.data(), scratch.data()));
  for (const Buffer& operand : operands) ASSERT_TRUE(operand.intact());
  ASSERT_TRUE(scratch.intact());
}

KernelDesc in_f64(KernelDesc desc) {
  for (TensorDesc& tensor : desc.operands)
    if (is_float(tensor.dtype)) tensor.dtype = MPC_DTYPE_F64;
  return desc;
}

std::vector<std::vector<double>> exact(
    const KernelDesc& desc, const std::vector<std::vector<double>>& in) {
  const KernelDesc wide = in_f64(desc);
  std::string error;
  const std::unique_ptr<Kernel> kernel = make_reference_kernel(wide, &error);
  EXPECT_TRUE(kernel) << error;
  if (!kernel) return {};
  const std::vector<Buffer> operands = make_operands(wide, in);
  run(*kernel, operands);
  std::vector<std::vector<double>> outputs;
  for (size_t i = in.size(); i < operands.size(); ++i)
    outputs.push_back(values_of(wide.operands[i], operands[i]));
  return outputs;
}

double roundoff(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_F64:
      return 0x1p-53;
    case MPC_DTYPE_F32:
      return 0x1p-24;
    case MPC_DTYPE_F16:
      return 0x1p-11;
    case MPC_DTYPE_BF16:
      return 0x1p-8;
    default:
      return 0;
  }
}

std::unique_ptr<Kernel> must_make(const KernelDesc& desc,
                                  const Context& context) {
  omp_set_num_threads(context.threads);
  std::string error;
  std::unique_ptr<Kernel> kernel = make_cpu_kernel(desc, context, &error);
  EXPECT_TRUE(kernel) << error;
  return kernel;
}

void expect_close(const KernelDesc& desc, const std::vector<Context>& contexts,
                  int terms) {
  const Expectation expectation(desc, terms);
  for (const Context& context : contexts) {
    SCOPED_TRACE(describe(desc, context));
    if (const std::unique_ptr<Kernel> kernel = must_make(desc, context))
      expectation.check(*kernel);
  }
}

void expect_reference_close(const KernelDesc& desc, int terms) {
  SCOPED_TRACE(describe(desc, {1, false}));
  std::string error;
  const std::unique_ptr<Kernel> kernel = make_reference_kernel(desc, &error);
  ASSERT_TRUE(kernel) << error;
  Expectation(desc, terms).check(*kernel);
}

void expect_kernel_close(const KernelDesc& desc, const Kernel& kernel,
                         int terms) {
  SCOPED_TRACE(describe(desc, {1, false}));
  Expectation(desc, terms).check(kernel);
}

std::string describe(const KernelDesc& desc, const Context& context) {
  std::string text;
  switch (desc.id) {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) \
  case KernelId::name:                                    \
    text = #name;                                         \
    break;
#include "kernels/catalog.def"
  }
  for (const TensorDesc& tensor : desc.operands) {
    text += std::string(" ") + mpc_dtype_name(tensor.dtype) + "[";
    for (int64_t extent : tensor.shape) text += std::to_string(extent) + ",";
    text += "]";
  }
  text += " attributes";
  for (int64_t attribute : desc.attributes)
    text += " " + std::to_string(attribute);
  return text + " threads " + std::to_string(context.threads) +
         (context.deterministic ? " deterministic" : "");
}

int64_t result_extent(int64_t input, int64_t kernel, int64_t stride,
                      int64_t dilation, int64_t pads) {
  return (input + pads - dilation * (kernel - 1) - 1) / stride + 1;
}

namespace {

Shape image_shape(int64_t batch, int64_t channels, const Shape& extents,
                  bool channels_last) {
  Shape shape{batch};
  if (!channels_last) shape.push_back(channels);
  shape.insert(shape.end(), extents.begin(), extents.end());
  if (channels_last) shape.push_back(channels);
  return shape;
}

Shape result_extents(const ConvCase& c) {
  Shape extents;
  for (size_t d = 0; d < c.image.size(); ++d)
    extents.push_back(result_extent(c.image[d], c.kernel[d], c.strides[d],
                                    c.dilations[d],
                                    c.pads_begin[d] + c.pads_end[d]));
  return extents;
}

void append_geometry(const ConvCase& c, std::vector<int64_t>* attributes) {
  for (const Shape* values :
       {&c.strides, &c.dilations, &c.pads_begin, &c.pads_end})
    attributes->insert(attributes->end(), values->begin(), values->end());
}

}  // namespace

KernelDesc conv_desc(KernelId id, const ConvCase& c, bool channels_last,
                     mpc_dtype_t dtype, mpc_dtype_t result) {
  const TensorDesc input{
      dtype, image_shape(c.batch, c.inputs, c.image, channels_last)};
  const TensorDesc output{
      dtype, image_shape(c.batch, c.outputs, result_extents(c), channels_last)};
  TensorDesc weight{dtype, {c.outputs, c.inputs / c.group}};
  weight.shape.insert(weight.shape.end(), c.kernel.begin(), c.kernel.end());
  KernelDesc desc{id, {}, {channels_last, c.group}};
  append_geometry(c, &desc.attributes);
  switch (id) {
    case KernelId::conv:
      desc.operands = {input, weight, output};
      break;
    case KernelId::conv_bias:
      desc.operands = {input, weight, {dtype, {c.outputs}}, output};
      break;
    case KernelId::conv_grad_input:
      desc.operands = {output, weight, input};
      break;
    default:
      desc.operands = {output, input, weight};
  }
  desc.operands.back().dtype = result;
  return desc;
}

int conv_terms(KernelId id, const ConvCase& c) {
  int64_t window = 1, results = c.batch;
  for (int64_t extent : c.kernel) window *= extent;
  for (int64_t extent : result_extents(c)) results *= extent;
  switch (id) {
    case KernelId::conv_grad_input:
      return static_cast<int>(window * c.outputs / c.group);
    case KernelId::conv_grad_weight:
      return static_cast<int>(results);
    default:
      return static_cast<int>(window * c.inputs / c.group) + 1;
  }
}

KernelDesc embedding_desc(KernelId id, const EmbeddingCase& c,
                          mpc_dtype_t dtype, mpc_dtype_t index) {
  Shape rows = c.indices;
  rows.insert(rows.end(), c.table.begin() + 1, c.table.end());
  if (id == KernelId::embedding)
    return {id, {{dtype, c.table}, {index, c.indices}, {dtype, rows}}, {}};
  const mpc_dtype_t sum =
      dtype == MPC_DTYPE_F64 ? MPC_DTYPE_F64 : MPC_DTYPE_F32;
  return {id, {{dtype, rows}, {index, c.indices}, {sum, c.table}}, {}};
}

KernelDesc recurrent_desc(KernelId id, const RecurrentCase& c, bool reverse,
                          mpc_dtype_t dtype) {
  const bool is_lstm = id == KernelId::lstm || id == KernelId::lstm_grad;
  const int64_t rows = (is_lstm ? 4 : 3) * c.hidden;
  const mpc_dtype_t sums =
      dtype == MPC_DTYPE_F64 ? MPC_DTYPE_F64 : MPC_DTYPE_F32;
  const TensorDesc states{sums, {c.steps, c.batch, c.hidden}},
      gates{sums, {c.steps, c.batch, rows}}, weights{dtype, {rows, c.hidden}},
      bias{sums, {4 * c.hidden}}, state{sums, {c.batch, c.hidden}};
  KernelDesc desc{id, {}, {reverse}};
  switch (id) {
    case KernelId::lstm:
      desc.operands = {gates,  weights, bias,  state, state,
                       states, state,   gates, states};
      break;
    case KernelId::lstm_grad:
      desc.operands = {states, state, weights, state, gates,
                       states, gates, state,   state};
      break;
    case KernelId::gru:
      desc.operands = {gates, weights, bias, state, states, gates, states};
      break;
    default:
      desc.operands = {states, weights, state, states, gates,
                       states, gates,   gates, state};
  }
  return desc;
}

KernelDesc pool_desc(KernelId id, const ConvCase& c, bool channels_last,
                     bool count_include_pad, mpc_dtype_t dtype) {
  const TensorDesc input{
      dtype, image_shape(c.batch, c.inputs, c.image, channels_last)};
  const TensorDesc output{
      dtype, image_shape(c.batch, c.inputs, result_extents(c), channels_last)};
  const TensorDesc indices{MPC_DTYPE_U8, output.shape};
  KernelDesc desc{id, {}, {channels_last}};
  switch (id) {
    case KernelId::max_pool:
      desc.operands = {input, output, indices};
      break;
    case KernelId::max_pool_grad:
      desc.operands = {output, indices, input};
      break;
    case KernelId::average_pool:
      desc.operands = {input, output};
      break;
    default:
      desc.operands = {output, input};
  }
  if (id == KernelId::average_pool || id == KernelId::average_pool_grad)
    desc.attributes.push_back(count_include_pad);
  desc.attributes.insert(desc.attributes.end(), c.kernel.begin(),
                         c.kernel.end());
  append_geometry(c, &desc.attributes);
  return desc;
}

}  // namespace mpc::kernels::testing
