// Every kernel of the catalog against the reference on a real device. Each test
// is skipped, with the reason, where there is none or a library is missing.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "kernels/cuda/driver/device_images.h"
#include "kernels/cuda/kernel.h"
#include "kernels/float_types.h"
#include "test/cuda/as_kernel.h"
#include "test/kernels/attention.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

// The first device with a stream and a folder for caches of its own; null with
// the reason in `missing`.
class Device {
 public:
  Device()
      : folder_(std::filesystem::temp_directory_path() /
                ("mpc-cuda-kernels-test-" + std::to_string(::getpid()))) {
    context.cache_folder = folder_.string();
    const cuda::Driver* driver = cuda::load_driver(&missing);
    if (!driver) return;
    context.driver = driver;
    if (!open()) return;
    context.cublaslt = cuda::load_cublaslt(&context.cublaslt_missing);
    context.cudnn = cuda::load_cudnn(&context.cudnn_missing);
    missing.clear();
  }
  ~Device() { std::filesystem::remove_all(folder_); }

  CudaContext context;
  std::string missing;
  size_t free_bytes() const {
    size_t free = 0, total = 0;
    context.driver->cuMemGetInfo_v2(&free, &total);
    return free;
  }

 private:
  bool open() {
    const cuda::Driver& driver = *context.driver;
    int count = 0, major = 0, minor = 0;
    cuda::CUdevice device = 0;
    char name[256] = "";
    const auto works = [&](const char* call, cuda::CUresult result) {
      if (result != cuda::CUDA_SUCCESS)
        missing = describe_error(driver, call, result);
      return result == cuda::CUDA_SUCCESS;
    };
    if (!works("cuInit", driver.cuInit(0)) ||
        !works("cuDeviceGetCount", driver.cuDeviceGetCount(&count)))
      return false;
    if (count == 0) {
      missing = "no device";
      return false;
    }
    if (!works("cuDeviceGet", driver.cuDeviceGet(&device, 0)) ||
        !works("cuDeviceGetName",
               driver.cuDeviceGetName(name, sizeof name, device)) ||
        !works("cuDeviceGetAttribute",
               driver.cuDeviceGetAttribute(
                   &major, cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                   device)) ||
        !works("cuDeviceGetAttribute",
               driver.cuDeviceGetAttribute(
                   &minor, cuda::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                   device)) ||
        !works("cuDevicePrimaryCtxRetain",
               driver.cuDevicePrimaryCtxRetain(&context.context, device)) ||
        !works("cuCtxSetCurrent", driver.cuCtxSetCurrent(context.context)) ||
        !works("cuStreamCreate",
               driver.cuStreamCreate(&context.stream,
                                     cuda::CU_STREAM_NON_BLOCKING)))
      return false;
    context.device_name = name;
    context.compute_capability = 10 * major + minor;
    return true;
  }

  std::filesystem::path folder_;
};

// Opened once; the process ends with it.
const Device& device() {
  static const Device* const opened = new Device;
  return *opened;
}

#define MPC_NEEDS_DEVICE() \
  if (!device().missing.empty()) GTEST_SKIP() << device().missing
#define MPC_NEEDS_CUBLASLT()      \
  MPC_NEEDS_DEVICE();             \
  if (!device().context.cublaslt) \
  GTEST_SKIP() << device().context.cublaslt_missing
#define MPC_NEEDS_CUDNN() \
  MPC_NEEDS_DEVICE();     \
  if (!device().context.cudnn) GTEST_SKIP() << device().context.cudnn_missing
#define MPC_NEEDS_IMAGES() \
  MPC_NEEDS_DEVICE();      \
  if (device_images().empty()) GTEST_SKIP() << "nvcc was not found"
#define MPC_NEEDS_MEMORY(bytes)        \
  if (device().free_bytes() < (bytes)) \
  GTEST_SKIP() << "needs " << (bytes) / (1 << 20) << " MiB free"

std::vector<Types> types() {
  std::vector<Types> all = {{MPC_DTYPE_F32, MPC_DTYPE_F32},
                            {MPC_DTYPE_F16, MPC_DTYPE_F16},
                            {MPC_DTYPE_F16, MPC_DTYPE_F32}};
  if (device().context.compute_capability >= 80) {
    all.push_back({MPC_DTYPE_BF16, MPC_DTYPE_BF16});
    all.push_back({MPC_DTYPE_BF16, MPC_DTYPE_F32});
  }
  return all;
}

// Needs no device.
TEST(Images, AreFatBinaries) {
  if (device_images().empty()) GTEST_SKIP() << "nvcc was not found";
  for (const DeviceImage& image : device_images()) {
    uint32_t magic;
    std::memcpy(&magic, image.data, sizeof magic);
    EXPECT_EQ(magic, 0xba55ed50u) << image.name;
    ASSERT_TRUE(image.ptx) << image.name;
    std::memcpy(&magic, image.ptx, sizeof magic);
    EXPECT_EQ(magic, 0xba55ed50u) << image.name;
  }
}

// Deterministic kernels are made without trials, which would take minutes.
CudaContext untimed() {
  CudaContext context = device().context;
  context.deterministic = true;
  return context;
}

const std::vector<MatmulCase> kDeviceMatmuls = {
    {{127, 509}, {509, 251}, {127, 251}},
    {{1, 4099}, {4099, 3}, {1, 3}},
    {{256, 1024}, {1024, 384}, {256, 384}},
    {{130, 64, 65}, {130, 65, 33}, {130, 64, 33}},
};

template <typename Case>
std::vector<Case> all_of(std::vector<std::vector<Case>> lists) {
  std::vector<Case> all;
  for (const auto& list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

std::string number_of(const ::testing::TestParamInfo<size_t>& info) {
  return std::to_string(info.param);
}

void expect_matmuls(const MatmulCase& c, const CudaContext& context) {
  for (int flags = 0; flags < 4; ++flags)
    for (const Types t : types()) {
      const KernelDesc desc = matmul_desc(c, flags & 1, flags & 2, t);
      const auto kernel = must_make(desc, context);
      ASSERT_TRUE(kernel);
      expect_kernel_close(desc, *kernel, static_cast<int>(c.lhs.back()));
    }
}

// Each case is a test of its own: one that crashes or hangs is then known, and
// costs no other.
class DeviceMatmul : public ::testing::TestWithParam<size_t> {
 protected:
  static std::vector<MatmulCase> cases() {
    return all_of<MatmulCase>({kMatmuls, kLargeMatmuls, kDeviceMatmuls});
  }
};

TEST_P(DeviceMatmul, Timed) {
  MPC_NEEDS_CUBLASLT();
  expect_matmuls(cases()[GetParam()], device().context);
}

TEST_P(DeviceMatmul, Deterministic) {
  MPC_NEEDS_CUBLASLT();
  expect_matmuls(cases()[GetParam()], untimed());
}

INSTANTIATE_TEST_SUITE_P(Cases, DeviceMatmul,
                         ::testing::Range(size_t{0}, kMatmuls.size() +
                                                         kLargeMatmuls.size() +
                                                         kDeviceMatmuls.size()),
                         number_of);

// 1, 2 and 0.5 in turn, whose sums are exact.
struct Fp8Values {
  Fp8Values(mpc_dtype_t dtype, int64_t count) : codes(count), values(count) {
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t k = (i + i / 5) % 3;
      codes[i] = static_cast<unsigned char>(
          dtype == MPC_DTYPE_F8E5M2 ? 0x38 + 4 * k : 0x30 + 8 * k);
      values[i] = k == 0 ? 0.5f : static_cast<float>(k);
    }
  }
  std::vector<unsigned char> codes;
  std::vector<float> values;
};

// A product [m, k] x [n, k]' of FP8, as forward and backward passes have it, or
// as earlier compilers had it, without factors.
void expect_fp8(mpc_dtype_t lhs, mpc_dtype_t rhs, mpc_dtype_t result, int64_t m,
                int64_t k, int64_t n, bool scaled, const CudaContext& context) {
  KernelDesc desc = {KernelId::matmul,
                     {{lhs, {m, k}}, {rhs, {n, k}}, {result, {m, n}}},
                     {0, 1}};
  if (scaled) {
    desc.id = KernelId::scaled_matmul;
    desc.operands.insert(desc.operands.begin() + 2, 2, {MPC_DTYPE_F32, {}});
  }
  SCOPED_TRACE(describe(desc, {1, context.deterministic}));
  const auto kernel = must_make(desc, context);
  ASSERT_TRUE(kernel);
  const Fp8Values a(lhs, m * k), b(rhs, n * k);
  std::vector<Buffer> operands = make_operands(desc, {});
  std::memcpy(operands[0].data(), a.codes.data(), a.codes.size());
  std::memcpy(operands[1].data(), b.codes.data(), b.codes.size());
  // One that the result has to be rounded behind.
  const float factors[] = {0x1p-60f, 0x1p-50f};
  const double scale = scaled ? 0x1p-110 : 1;
  for (size_t i = 0; scaled && i < 2; ++i)
    std::memcpy(operands[2 + i].data(), &factors[i], sizeof factors[i]);
  run(*kernel, operands);
  const std::vector<double> found =
      values_of(desc.operands.back(), operands.back());
  // Fast accumulation keeps 14 bits; a bf16 has 8.
  const double near = result == MPC_DTYPE_BF16 ? 0x1p-8 : 0x1p-11;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += a.values[static_cast<size_t>(row * k + i)] *
               b.values[static_cast<size_t>(column * k + i)];
      sum *= scale;
      ASSERT_NEAR(found[static_cast<size_t>(row * n + column)], sum, near * sum)
          << row << ", " << column;
    }
}

TEST(Device, Fp8Matmul) {
  MPC_NEEDS_CUBLASLT();
  if (device().context.compute_capability < 89)
    GTEST_SKIP() << "FP8 needs compute capability 8.9";
  for (const CudaContext& context : {untimed(), device().context})
    for (mpc_dtype_t lhs : {MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2})
      for (mpc_dtype_t rhs : {MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2})
        for (mpc_dtype_t result : {MPC_DTYPE_BF16, MPC_DTYPE_F32}) {
          if (lhs == MPC_DTYPE_F8E5M2 && rhs == MPC_DTYPE_F8E5M2) continue;
          for (const bool scaled : {false, true}) {
            expect_fp8(lhs, rhs, result, 6, 32, 16, scaled, context);
            expect_fp8(lhs, rhs, result, 96, 768, 256, scaled, context);
            expect_fp8(lhs, rhs, result, 1, 4096, 16, scaled, context);
          }
        }
}

// A kernel whose choice was tried and written to a file by an earlier one.
std::unique_ptr<Kernel> make_again(const KernelDesc& desc) {
  EXPECT_TRUE(must_make(desc, device().context));
  CudaContext again = device().context;
  again.shared = make_cuda_shared();
  again.choices = std::make_shared<ChoiceStore>();
  auto kernel = must_make(desc, again);
  if (kernel) {
    EXPECT_NE(kernel->implementation().find("of an earlier trial"),
              std::string::npos)
        << kernel->implementation();
  }
  return kernel;
}

TEST(Device, MatmulIsRememberedInAFile) {
  MPC_NEEDS_CUBLASLT();
  const KernelDesc desc =
      matmul_desc(kDeviceMatmuls[2], false, true, types()[1]);
  EXPECT_TRUE(make_again(desc));
}

// A plan that is made again from its text computes the same.
TEST(Device, ConvIsRememberedInAFile) {
  MPC_NEEDS_CUDNN();
  const KernelDesc desc =
      conv_desc(KernelId::conv, kConvs[2], true, MPC_DTYPE_F16, MPC_DTYPE_F16);
  const auto kernel = make_again(desc);
  ASSERT_TRUE(kernel);
  expect_kernel_close(desc, *kernel, conv_terms(KernelId::conv, kConvs[2]));
}

class DeviceConv : public ::testing::TestWithParam<size_t> {
 protected:
  static std::vector<ConvCase> cases() {
    return all_of<ConvCase>({kConvs, kLargeConvs});
  }
  static void expect_all(KernelId id, const CudaContext& context) {
    const ConvCase c = cases()[GetParam()];
    for (const Types t : types())
      for (bool last : {false, true}) {
        if (!allowed(id, t)) continue;
        const KernelDesc desc = conv_desc(id, c, last, t.dtype, t.result);
        const auto kernel = must_make(desc, context);
        if (kernel) expect_kernel_close(desc, *kernel, conv_terms(id, c));
      }
  }
};

TEST_P(DeviceConv, Forward) {
  MPC_NEEDS_CUDNN();
  expect_all(KernelId::conv, untimed());
  expect_all(KernelId::conv_bias, untimed());
}

TEST_P(DeviceConv, GradientOfTheInput) {
  MPC_NEEDS_CUDNN();
  expect_all(KernelId::conv_grad_input, untimed());
}

TEST_P(DeviceConv, GradientOfTheWeight) {
  MPC_NEEDS_CUDNN();
  expect_all(KernelId::conv_grad_weight, untimed());
}

INSTANTIATE_TEST_SUITE_P(Cases, DeviceConv,
                         ::testing::Range(size_t{0},
                                          kConvs.size() + kLargeConvs.size()),
                         number_of);

TEST(Device, ConvTimed) {
  MPC_NEEDS_CUDNN();
  for (const ConvCase& c : {kConvs[2], kConvs[3], kLargeConvs[0]})
    for (KernelId id : kConvKernels)
      for (const Types t : types()) {
        if (!allowed(id, t)) continue;
        const KernelDesc desc = conv_desc(id, c, true, t.dtype, t.result);
        const auto kernel = must_make(desc, device().context);
        if (kernel) expect_kernel_close(desc, *kernel, conv_terms(id, c));
      }
}

TEST(Device, Pool) {
  MPC_NEEDS_IMAGES();
  std::vector<mpc_dtype_t> dtypes = {MPC_DTYPE_F32, MPC_DTYPE_F16,
                                     MPC_DTYPE_BF16};
  if (device().context.compute_capability < 80) dtypes.pop_back();
  for (const ConvCase& c : kPools)
    for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                        KernelId::average_pool, KernelId::average_pool_grad})
      for (mpc_dtype_t dtype : dtypes)
        for (int flags = 0; flags < 4; ++flags) {
          const KernelDesc desc = pool_desc(id, c, flags & 1, flags & 2, dtype);
          SCOPED_TRACE(describe(desc, {1, false}));
          std::string error;
          const auto kernel = must_make(desc, device().context);
          const auto reference = make_reference_kernel(desc, &error);
          ASSERT_TRUE(kernel && reference) << error;
          std::vector<std::vector<double>> inputs = grad_inputs(desc);
          if (id == KernelId::max_pool) inputs[0] = difficult(inputs[0].size());
          const std::vector<Buffer> found = make_operands(desc, inputs);
          const std::vector<Buffer> expected = make_operands(desc, inputs);
          run(*kernel, found);
          run(*reference, expected);
          for (size_t o = inputs.size(); o < found.size(); ++o) {
            const auto a = values_of(desc.operands[o], found[o]);
            const auto b = values_of(desc.operands[o], expected[o]);
            for (size_t i = 0; i < a.size(); ++i)
              ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
                  << "element " << i << ": expected " << b[i] << ", found "
                  << a[i];
          }
        }
}

class DeviceAttention : public ::testing::TestWithParam<size_t> {
 protected:
  static AttentionCase attention() {
    return all_of<AttentionCase>({kAttentions, kLargeAttentions})[GetParam()];
  }
  static void expect_all(const CudaContext& context) {
    for (KernelId id : {KernelId::attention, KernelId::attention_grad})
      for (const Types t : types()) {
        const KernelDesc desc =
            attention_desc(id, attention(), t.dtype, t.result);
        SCOPED_TRACE(describe(desc, {1, false}));
        const auto kernel = must_make(desc, context);
        ASSERT_TRUE(kernel);
        AttentionExpectation(desc).check(*kernel);
      }
  }
};

// By cuDNN where it has an engine,
TEST_P(DeviceAttention, Deterministic) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  expect_all(untimed());
}

TEST_P(DeviceAttention, Timed) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  expect_all(device().context);
}

// and without it.
TEST_P(DeviceAttention, Composed) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  CudaContext without = untimed();
  without.cudnn = nullptr;
  without.cudnn_missing = "not asked for";
  expect_all(without);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DeviceAttention,
    ::testing::Range(size_t{0}, kAttentions.size() + kLargeAttentions.size()),
    number_of);

// A composed attention is right, but several times slower: whoever trains a
// transformer must get cuDNN's.
TEST(Device, AttentionOf16BitIsCudnns) {
  MPC_NEEDS_CUDNN();
  MPC_NEEDS_CUBLASLT();
  const AttentionCase gpt = {2, 12, 12, 1024, 1024, 64, 64, true, 0.125f};
  const AttentionCase vit = {2, 12, 12, 197, 197, 64, 64, false, 0.125f};
  for (const CudaContext& context : {untimed(), device().context})
    for (const AttentionCase& c : {gpt, vit})
      for (KernelId id : {KernelId::attention, KernelId::attention_grad})
        for (const Types t : types()) {
          if (t.dtype == MPC_DTYPE_F32 || t.dtype != t.result) continue;
          const auto kernel =
              must_make(attention_desc(id, c, t.dtype, t.result), context);
          ASSERT_TRUE(kernel);
          const std::string how = kernel->implementation();
          EXPECT_EQ(how.find("cudnn:engine "), 0u) << how;
          EXPECT_EQ(how.find("as a trial failed"), std::string::npos) << how;
        }
}

// Sums of eighths are exact in any order.
void expect_embedding(const KernelDesc& desc,
                      const std::vector<double>& indices) {
  SCOPED_TRACE(describe(desc, {1, false}));
  std::string error;
  const auto kernel = must_make(desc, device().context);
  const auto reference = make_reference_kernel(desc, &error);
  ASSERT_TRUE(kernel && reference) << error;
  const std::vector<std::vector<double>> inputs = {
      eighths(0, element_count(desc.operands[0])), indices};
  const std::vector<Buffer> found = make_operands(desc, inputs);
  const std::vector<Buffer> expected = make_operands(desc, inputs);
  run(*kernel, found);
  run(*reference, expected);
  const auto a = values_of(desc.operands[2], found[2]);
  const auto b = values_of(desc.operands[2], expected[2]);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
        << "element " << i << ": expected " << b[i] << ", found " << a[i];
}

TEST(Device, Embedding) {
  MPC_NEEDS_IMAGES();
  std::vector<EmbeddingCase> cases = kEmbeddings;
  cases.push_back({{50257, 96}, {8, 1024}});
  cases.push_back({{3, 72}, {100000}});
  for (const EmbeddingCase& c : cases)
    for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
      for (const Types t : types())
        for (mpc_dtype_t index : {MPC_DTYPE_I32, MPC_DTYPE_I64}) {
          if (t.dtype != t.result) continue;
          const KernelDesc desc = embedding_desc(id, c, t.dtype, index);
          expect_embedding(desc, indices_for(desc));
          expect_embedding(desc, indices_beyond(desc));
        }
}

TEST(Device, CopyAndZero) {
  MPC_NEEDS_DEVICE();
  const TensorDesc bytes{MPC_DTYPE_U8, {12345}};
  const auto copy =
      must_make({KernelId::copy, {bytes, bytes}, {}}, device().context);
  const auto zero = must_make({KernelId::zero, {bytes}, {}}, device().context);
  ASSERT_TRUE(copy && zero);
  std::vector<Buffer> operands = make_operands(
      {KernelId::copy, {bytes, bytes}, {}}, {std::vector<double>(12345, 7)});
  run(*copy, operands);
  EXPECT_TRUE(operands[0] == operands[1]);
  const std::vector<Buffer> cleared =
      make_operands({KernelId::zero, {bytes}, {}}, {});
  run(*zero, cleared);
  EXPECT_EQ(values_of(bytes, cleared[0]), std::vector<double>(12345, 0));
}

// Memory of the device for the tests below.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(driver().cuMemAlloc_v2(&address_, bytes), cuda::CUDA_SUCCESS);
  }
  ~Memory() { driver().cuMemFree_v2(address_); }
  Memory(const Memory&) = delete;
  cuda::CUdeviceptr address() const { return address_; }
  void write(size_t offset, const void* from, size_t bytes) const {
    EXPECT_EQ(driver().cuMemcpyHtoDAsync_v2(address_ + offset, from, bytes,
                                            device().context.stream),
              cuda::CUDA_SUCCESS);
  }
  std::vector<unsigned char> read() const {
    std::vector<unsigned char> bytes(bytes_);
    EXPECT_EQ(driver().cuMemcpyDtoHAsync_v2(bytes.data(), address_, bytes_,
                                            device().context.stream),
              cuda::CUDA_SUCCESS);
    EXPECT_EQ(driver().cuStreamSynchronize(device().context.stream),
              cuda::CUDA_SUCCESS);
    return bytes;
  }

 private:
  static const cuda::Driver& driver() { return *device().context.driver; }
  cuda::CUdeviceptr address_ = 0;
  size_t bytes_;
};

// Queues it directly, then captured in a graph that is launched three times:
// the bits are the same each time.
void expect_same_in_graphs(const KernelDesc& desc, const CudaContext& context) {
  SCOPED_TRACE(describe(desc, {1, false}));
  const cuda::Driver& driver = *context.driver;
  std::string error;
  const auto kernel = make_cuda_kernel(desc, context, &error);
  ASSERT_TRUE(kernel) << error;
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<cuda::CUdeviceptr> operands;
  for (size_t i = 0; i < desc.operands.size(); ++i) {
    const TensorDesc& tensor = desc.operands[i];
    const Buffer values = make_tensor(
        tensor, uniform(static_cast<int>(i), element_count(tensor)));
    memory.push_back(std::make_unique<Memory>(values.size()));
    memory.back()->write(0, values.data(), values.size());
    memory.back()->read();  // `values` goes.
    operands.push_back(memory.back()->address());
  }
  const Memory workspace(kernel->workspace_bytes() + 1);
  const Memory& result = *memory.back();
  ASSERT_EQ(
      kernel->enqueue(operands.data(), workspace.address(), context.stream),
      "");
  const std::vector<unsigned char> expected = result.read();

  cuda::CUgraph graph = nullptr;
  cuda::CUgraphExec executable = nullptr;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(
                context.stream, cuda::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            cuda::CUDA_SUCCESS);
  EXPECT_EQ(
      kernel->enqueue(operands.data(), workspace.address(), context.stream),
      "");
  ASSERT_EQ(driver.cuStreamEndCapture(context.stream, &graph),
            cuda::CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
            cuda::CUDA_SUCCESS);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(driver.cuMemsetD8Async(result.address(), 0xfb, expected.size(),
                                     context.stream),
              cuda::CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphLaunch(executable, context.stream),
              cuda::CUDA_SUCCESS);
    EXPECT_TRUE(result.read() == expected);
  }
  driver.cuGraphExecDestroy(executable);
  driver.cuGraphDestroy(graph);
}

TEST(Device, MatmulInGraphs) {
  MPC_NEEDS_CUBLASLT();
  for (const Types t : types())
    for (const MatmulCase& c : kDeviceMatmuls)
      for (const CudaContext& context : {untimed(), device().context})
        expect_same_in_graphs(matmul_desc(c, false, true, t), context);
}

TEST(Device, ConvInGraphs) {
  MPC_NEEDS_CUDNN();
  for (const Types t : types())
    for (KernelId id : kConvKernels)
      if (allowed(id, t))
        for (const ConvCase& c : {kConvs[1], kConvs[2]})
          expect_same_in_graphs(conv_desc(id, c, true, t.dtype, t.result),
                                untimed());
}

TEST(Device, AttentionInGraphs) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  const AttentionCase c = {2, 4, 2, 128, 128, 64, 64, true, 0.125f};
  for (const Types t : types())
    for (KernelId id : {KernelId::attention, KernelId::attention_grad})
      expect_same_in_graphs(attention_desc(id, c, t.dtype, t.result),
                            untimed());
}

TEST(Device, PoolInGraphs) {
  MPC_NEEDS_IMAGES();
  for (KernelId id : {KernelId::average_pool, KernelId::average_pool_grad})
    expect_same_in_graphs(pool_desc(id, kPools[2], true, false, MPC_DTYPE_F16),
                          device().context);
}

// All indices are 0: one long run.
TEST(Device, EmbeddingInGraphs) {
  MPC_NEEDS_IMAGES();
  for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
    expect_same_in_graphs(
        embedding_desc(id, {{300, 40}, {5000}}, MPC_DTYPE_F16, MPC_DTYPE_I32),
        device().context);
}

// What tools/gpu/run.py looks at first, each in a process of its own: one small
// case of each kind of work.
Types smoke_types() {
  return device().context.compute_capability >= 80
             ? Types{MPC_DTYPE_BF16, MPC_DTYPE_BF16}
             : Types{MPC_DTYPE_F16, MPC_DTYPE_F16};
}

TEST(Smoke, LoadsOurKernels) {
  MPC_NEEDS_IMAGES();
  const KernelDesc desc =
      pool_desc(KernelId::max_pool, kPools[0], true, false, MPC_DTYPE_F32);
  ASSERT_TRUE(must_make(desc, device().context));
  EXPECT_EQ(cuda_note(device().context), "");
}

TEST(Smoke, Multiplies) {
  MPC_NEEDS_CUBLASLT();
  const KernelDesc desc =
      matmul_desc(kDeviceMatmuls[2], false, true, smoke_types());
  const auto kernel = must_make(desc, device().context);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->implementation().find("as a trial failed"),
            std::string::npos)
      << kernel->implementation();
  expect_kernel_close(desc, *kernel, 1024);
}

TEST(Smoke, Attends) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_CUDNN();
  const AttentionCase c = {2, 4, 4, 128, 128, 64, 64, true, 0.125f};
  for (KernelId id : {KernelId::attention, KernelId::attention_grad}) {
    const KernelDesc desc =
        attention_desc(id, c, smoke_types().dtype, smoke_types().result);
    const auto kernel = must_make(desc, device().context);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->implementation().find("cudnn:engine "), 0u)
        << kernel->implementation();
    AttentionExpectation(desc).check(*kernel);
  }
}

TEST(Smoke, Convolves) {
  MPC_NEEDS_CUDNN();
  const KernelDesc desc = conv_desc(KernelId::conv, kConvs[2], true,
                                    smoke_types().dtype, smoke_types().result);
  const auto kernel = must_make(desc, device().context);
  ASSERT_TRUE(kernel);
  expect_kernel_close(desc, *kernel, conv_terms(KernelId::conv, kConvs[2]));
}

TEST(Smoke, ReplaysAGraph) {
  MPC_NEEDS_CUBLASLT();
  expect_same_in_graphs(
      matmul_desc(kDeviceMatmuls[0], false, true, smoke_types()), untimed());
}

// Rows of an operand of more than 2^31 bytes repeat after so many.
constexpr int64_t kPeriod = 251;

std::vector<F16> pattern(int64_t count) {
  std::vector<F16> values;
  for (double value : eighths(1, static_cast<size_t>(count)))
    values.push_back(F16(static_cast<float>(value)));
  return values;
}

// Rows of `row` elements, from a pattern that holds kPeriod of them.
void fill_rows(const Memory& memory, const std::vector<F16>& pattern,
               int64_t row, int64_t rows) {
  for (int64_t i = 0; i < rows; i += kPeriod)
    memory.write(
        static_cast<size_t>(i * row) * sizeof(F16), pattern.data(),
        static_cast<size_t>(std::min(kPeriod, rows - i) * row) * sizeof(F16));
}

TEST(Device, MatmulBeyond2To31Bytes) {
  MPC_NEEDS_CUBLASLT();
  constexpr int64_t kRows = 65537, kSums = 17408, kColumns = 8;
  static_assert(kRows * kSums * 2 > int64_t{1} << 31, "");
  MPC_NEEDS_MEMORY(size_t{8} << 30);
  const KernelDesc desc{KernelId::matmul,
                        {{MPC_DTYPE_F16, {kRows, kSums}},
                         {MPC_DTYPE_F16, {kSums, kColumns}},
                         {MPC_DTYPE_F32, {kRows, kColumns}}},
                        {0, 0}};
  std::string error;
  const auto kernel = make_cuda_kernel(desc, device().context, &error);
  ASSERT_TRUE(kernel) << error;
  const std::vector<F16> lhs = pattern(kPeriod * kSums);
  const std::vector<F16> rhs = pattern(kSums * kColumns);
  const Memory a(kRows * kSums * 2), b(rhs.size() * 2), d(kRows * kColumns * 4),
      workspace(kernel->workspace_bytes() + 1);
  fill_rows(a, lhs, kSums, kRows);
  b.write(0, rhs.data(), rhs.size() * 2);
  const cuda::CUdeviceptr operands[] = {a.address(), b.address(), d.address()};
  ASSERT_EQ(
      kernel->enqueue(operands, workspace.address(), device().context.stream),
      "");
  const std::vector<unsigned char> bytes = d.read();
  std::vector<float> found(bytes.size() / 4);
  std::memcpy(found.data(), bytes.data(), bytes.size());
  for (int64_t row = 0; row < kPeriod; ++row)
    for (int64_t column = 0; column < kColumns; ++column) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < kSums; ++k) {
        const double product = static_cast<double>(lhs[row * kSums + k]) *
                               static_cast<double>(rhs[k * kColumns + column]);
        sum += product;
        size += std::fabs(product);
      }
      for (int64_t i = row; i < kRows; i += kPeriod)
        ASSERT_LE(std::fabs(found[i * kColumns + column] - sum),
                  2 * kSums * 0x1p-24 * size)
            << "row " << i << " column " << column;
    }
}

TEST(Device, EmbeddingBeyond2To31Bytes) {
  MPC_NEEDS_IMAGES();
  constexpr int64_t kRows = 1050000, kWidth = 1032;
  static_assert(kRows * kWidth * 2 > int64_t{1} << 31, "");
  MPC_NEEDS_MEMORY(size_t{8} << 30);
  const KernelDesc desc =
      embedding_desc(KernelId::embedding, {{kRows, kWidth}, {4}}, MPC_DTYPE_F16,
                     MPC_DTYPE_I64);
  std::string error;
  const auto kernel = make_cuda_kernel(desc, device().context, &error);
  ASSERT_TRUE(kernel) << error;
  const std::vector<F16> rows = pattern(kPeriod * kWidth);
  const Memory table(kRows * kWidth * 2), indices(32), y(4 * kWidth * 2);
  fill_rows(table, rows, kWidth, kRows);
  const int64_t wanted[] = {kRows - 1, -kRows, 1048576, -7};
  indices.write(0, wanted, sizeof wanted);
  const cuda::CUdeviceptr operands[] = {table.address(), indices.address(),
                                        y.address()};
  ASSERT_EQ(kernel->enqueue(operands, 0, device().context.stream), "");
  const std::vector<unsigned char> found = y.read();
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t row = wanted[i] < 0 ? wanted[i] + kRows : wanted[i];
    EXPECT_EQ(std::memcmp(found.data() + i * kWidth * 2,
                          rows.data() + row % kPeriod * kWidth, kWidth * 2),
              0)
        << "index " << wanted[i];
  }
}

TEST(Device, PoolBeyond2To31Bytes) {
  MPC_NEEDS_IMAGES();
  constexpr int64_t kPixels = 17000002, kChannels = 64;
  static_assert(kPixels * kChannels * 2 > int64_t{1} << 31, "");
  MPC_NEEDS_MEMORY(size_t{8} << 30);
  const KernelDesc desc = pool_desc(
      KernelId::max_pool, {1, kChannels, 0, {kPixels}, {2}, {2}, {1}, {0}, {0}},
      true, false, MPC_DTYPE_F16);
  std::string error;
  const auto kernel = make_cuda_kernel(desc, device().context, &error);
  ASSERT_TRUE(kernel) << error;
  const std::vector<F16> in = pattern(kPeriod * kChannels);
  constexpr int64_t kResults = kPixels / 2 * kChannels;
  const Memory x(kPixels * kChannels * 2), y(kResults * 2), indices(kResults);
  fill_rows(x, in, kChannels, kPixels);
  const cuda::CUdeviceptr operands[] = {x.address(), y.address(),
                                        indices.address()};
  ASSERT_EQ(kernel->enqueue(operands, 0, device().context.stream), "");
  const std::vector<unsigned char> found = y.read(), places = indices.read();
  for (int64_t i = 0; i < kResults; ++i) {
    const int64_t pixel = i / kChannels * 2, channel = i % kChannels;
    const F16 first = in[pixel % kPeriod * kChannels + channel];
    const F16 second = in[(pixel + 1) % kPeriod * kChannels + channel];
    const bool is_second =
        static_cast<float>(second) > static_cast<float>(first);
    uint16_t bits;
    std::memcpy(&bits, &found[2 * i], sizeof bits);
    ASSERT_EQ(bits, (is_second ? second : first).bits) << i;
    ASSERT_EQ(places[i], is_second) << i;
  }
}

}  // namespace
}  // namespace mpc::test
