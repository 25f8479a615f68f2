// Products through cuBLASLt's table: the mapping of layouts against the
// reference, and how an algorithm is chosen.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "kernels/cuda/kernel.h"
#include "kernels/float_types.h"
#include "test/cuda/as_kernel.h"
#include "test/cuda/fake/fake_cublaslt.h"
#include "test/cuda/host_driver.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace kernels;
using kernels::testing::kCudaTypes;
using kernels::testing::kLargeMatmuls;
using kernels::testing::kMatmuls;
using kernels::testing::matmul_desc;
using kernels::testing::MatmulCase;
using kernels::testing::Types;

// Machinery of a device without one. Caches go to a folder of the test.
class CudaMatmul : public ::testing::Test {
 protected:
  CudaMatmul()
      : library(&driver),
        folder(std::filesystem::path(::testing::TempDir()) /
               ("mpc-matmul-" +
                std::to_string(reinterpret_cast<uintptr_t>(this)))) {}
  ~CudaMatmul() override {
    std::filesystem::remove_all(folder);
    EXPECT_TRUE(driver.allocations.empty());
    EXPECT_TRUE(driver.events.empty());
    EXPECT_EQ(library.handles, 0u);
    EXPECT_EQ(library.descriptors, 0u);
  }

  CudaContext context() const {
    CudaContext made;
    made.driver = driver.table();
    made.cublaslt = library.table();
    made.compute_capability = 90;
    made.device_name = "Fake H200";
    made.cache_folder = folder.string();
    return made;
  }
  std::unique_ptr<CudaKernel> make(const CudaContext& context,
                                   std::string* error) {
    return make_cuda_kernel(
        matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false, kCudaTypes[3]),
        context, error);
  }
  // The algorithm that a kernel made in this context uses.
  std::string chosen(const CudaContext& context) {
    std::string error;
    const auto kernel = make(context, &error);
    return kernel ? kernel->implementation() : error;
  }
  std::filesystem::path cache_file() const {
    return folder / "cublaslt-130002-Fake_H200-sm_90";
  }

  HostDriver driver;
  FakeCublasLt library;
  std::filesystem::path folder;
};

TEST_F(CudaMatmul, MapsEveryLayout) {
  CudaContext device = context();
  device.cache_folder = "";
  for (const auto* cases : {&kMatmuls, &kLargeMatmuls})
    for (const MatmulCase& c : *cases)
      for (int flags = 0; flags < 4; ++flags)
        for (const Types types : kCudaTypes) {
          const KernelDesc desc = matmul_desc(c, flags & 1, flags & 2, types);
          // Large ones as often as needed to see the batches.
          if (cases == &kLargeMatmuls && types.dtype != MPC_DTYPE_BF16)
            continue;
          device.deterministic = cases == &kLargeMatmuls;
          const auto kernel = must_make(desc, device);
          ASSERT_TRUE(kernel) << library.refusal;
          kernels::testing::expect_kernel_close(desc, *kernel,
                                                static_cast<int>(c.lhs.back()));
          ASSERT_FALSE(HasFailure()) << library.refusal;
        }
}

// A product [rows, 32] x [columns, 32]' with a batch that becomes rows.
KernelDesc fp8_desc(mpc_dtype_t lhs, mpc_dtype_t rhs, mpc_dtype_t result) {
  return {KernelId::scaled_matmul,
          {{lhs, {2, 3, 32}},
           {rhs, {16, 32}},
           {MPC_DTYPE_F32, {}},
           {MPC_DTYPE_F32, {}},
           {result, {2, 3, 16}}},
          {0, 1}};
}

// The same as earlier compilers describe it.
KernelDesc unscaled(KernelDesc desc) {
  desc.id = KernelId::matmul;
  desc.operands.erase(desc.operands.begin() + 2, desc.operands.begin() + 4);
  return desc;
}

cuda::CUdeviceptr address(const void* host) {
  return reinterpret_cast<cuda::CUdeviceptr>(host);
}

// 1, 2 and 0.5 in turn; for E5M2, too.
std::vector<uint8_t> fp8_codes(size_t count, bool e5m2) {
  std::vector<uint8_t> codes(count);
  for (size_t i = 0; i < count; ++i)
    codes[i] =
        static_cast<uint8_t>(e5m2 ? 0x38 + 4 * (i % 3) : 0x30 + 8 * (i % 3));
  return codes;
}

// Element (row, column) of the product of such operands.
float fp8_sum(size_t row, size_t column) {
  const float values[] = {0.5f, 1, 2};
  float sum = 0;
  for (size_t k = 0; k < 32; ++k)
    sum += values[(row * 32 + k) % 3] * values[(column * 32 + k) % 3];
  return sum;
}

TEST_F(CudaMatmul, MultipliesFp8OfBothFormats) {
  for (const bool e5m2 : {false, true}) {
    const mpc_dtype_t type = e5m2 ? MPC_DTYPE_F8E5M2 : MPC_DTYPE_F8E4M3;
    const KernelDesc desc = fp8_desc(type, MPC_DTYPE_F8E4M3, MPC_DTYPE_F32);
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context(), &error);
    ASSERT_TRUE(kernel) << error << library.refusal;
    const auto old = make_cuda_kernel(unscaled(desc), context(), &error);
    ASSERT_TRUE(old) << error << library.refusal;
    std::vector<uint8_t> lhs = fp8_codes(192, e5m2),
                         rhs = fp8_codes(512, false);
    std::vector<float> result(96), plain(96);
    const cuda::CUdeviceptr all[] = {address(lhs.data()), address(rhs.data()),
                                     address(plain.data())};
    ASSERT_EQ(old->enqueue(all, 0, nullptr), "") << library.refusal;
    // They are read where each call says, and when it runs.
    for (float factor : {0.5f, 4.0f}) {
      const float lhs_factor = factor, rhs_factor = 0.25f;
      const cuda::CUdeviceptr operands[] = {
          address(lhs.data()), address(rhs.data()), address(&lhs_factor),
          address(&rhs_factor), address(result.data())};
      ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
      for (size_t row = 0; row < 6; ++row)
        for (size_t column = 0; column < 16; ++column) {
          const float sum = fp8_sum(row, column);
          const size_t i = row * 16 + column;
          EXPECT_EQ(plain[i], sum) << row << ", " << column;
          EXPECT_EQ(result[i], sum * factor * 0.25f) << row << ", " << column;
        }
    }
  }
}

// The factor of the left operand is that of the library's B. A product with two
// equal factors would not tell, nor would one without a NaN to stop.
TEST_F(CudaMatmul, EachFactorIsThatOfItsOperand) {
  std::string error;
  const auto kernel = make_cuda_kernel(
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_F32), context(),
      &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  std::vector<uint8_t> lhs = fp8_codes(192, false), rhs = fp8_codes(512, false);
  std::vector<float> result(96);
  const float factors[] = {3, 5};
  const cuda::CUdeviceptr operands[] = {
      address(lhs.data()), address(rhs.data()), address(&factors[0]),
      address(&factors[1]), address(result.data())};
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  EXPECT_EQ(library.last_scales[0], &factors[1]);
  EXPECT_EQ(library.last_scales[1], &factors[0]);
}

// Where a batch broadcasts in two ways at once, a product is several calls; all
// have the factors.
TEST_F(CudaMatmul, EveryCallHasTheFactors) {
  const KernelDesc desc = {KernelId::scaled_matmul,
                           {{MPC_DTYPE_F8E4M3, {2, 1, 3, 32}},
                            {MPC_DTYPE_F8E4M3, {1, 2, 16, 32}},
                            {MPC_DTYPE_F32, {}},
                            {MPC_DTYPE_F32, {1}},
                            {MPC_DTYPE_F32, {2, 2, 3, 16}}},
                           {0, 1}};
  CudaContext device = context();
  device.deterministic = true;
  std::string error;
  const auto kernel = make_cuda_kernel(desc, device, &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  std::vector<uint8_t> lhs = fp8_codes(192, false),
                       rhs = fp8_codes(1024, false);
  std::vector<float> result(192);
  const float lhs_factor = 0.5f, rhs_factor = 0.125f;
  const cuda::CUdeviceptr operands[] = {
      address(lhs.data()), address(rhs.data()), address(&lhs_factor),
      address(&rhs_factor), address(result.data())};
  library.products = 0;
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  EXPECT_EQ(library.products, 2u);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j)
      for (size_t row = 0; row < 3; ++row)
        for (size_t column = 0; column < 16; ++column)
          EXPECT_EQ(result[((i * 2 + j) * 3 + row) * 16 + column],
                    fp8_sum(i * 3 + row, j * 16 + column) / 16)
              << i << ", " << j << ", " << row << ", " << column;
}

// A result in bf16 is rounded behind the factors: nothing is too large or too
// small for it before.
TEST_F(CudaMatmul, RoundsBehindTheFactors) {
  std::string error;
  const auto kernel = make_cuda_kernel(
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16), context(),
      &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  std::vector<uint8_t> lhs(192, 0x38), rhs(512, 0x38);  // Ones.
  std::vector<Bf16> result(96);
  const float lhs_factor = 0x1p-60f, rhs_factor = 0x1p-60f;
  const cuda::CUdeviceptr operands[] = {
      address(lhs.data()), address(rhs.data()), address(&lhs_factor),
      address(&rhs_factor), address(result.data())};
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  for (const Bf16 value : result)
    EXPECT_EQ(static_cast<float>(value), 0x1p-115f);
}

// Algorithms for products with factors are found and kept apart from others.
TEST_F(CudaMatmul, FactorsAreKnownBeforeAnAlgorithmIs) {
  library.algorithms = {{10}, {7}};
  const KernelDesc desc =
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  std::string error;
  for (const KernelDesc& each : {desc, unscaled(desc)}) {
    const auto made = [&](const CudaContext& device) {
      const auto kernel = make_cuda_kernel(each, device, &error);
      return kernel ? kernel->implementation() : error + library.refusal;
    };
    const size_t heuristics = library.heuristics;
    EXPECT_EQ(made(context()), "cublasLt:algo 1, 7.0 us, fastest of 2");
    EXPECT_EQ(made(context()),
              "cublasLt:algo 1, the fastest of an earlier trial");
    EXPECT_EQ(library.heuristics, heuristics + 1);
    CudaContext fixed = context();
    fixed.deterministic = true;
    EXPECT_EQ(made(fixed),
              "cublasLt:algo 0, first of the heuristic, for the same bits in "
              "every run");
  }
}

// What only the library can refuse.
TEST_F(CudaMatmul, SaysThatFactorsAreRefused) {
  std::string error;
  const KernelDesc desc =
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  library.failing = "A_SCALE_POINTER";
  EXPECT_FALSE(make_cuda_kernel(desc, context(), &error));
  EXPECT_EQ(error,
            "scaled_matmul: cublasLtMatmulDescSetAttribute: "
            "CUBLAS_STATUS_NOT_SUPPORTED");
  const auto kernel = make_cuda_kernel(desc, context(), &error);
  ASSERT_TRUE(kernel) << error;
  library.failing = "B_SCALE_POINTER";
  const cuda::CUdeviceptr operands[5] = {64, 64, 64, 64, 64};
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr),
            "cublasLtMatmulDescSetAttribute: CUBLAS_STATUS_NOT_SUPPORTED");
}

// Products of a forward pass, which have E4M3 on both sides; gradients are
// E5M2.
TEST_F(CudaMatmul, OnlyForwardProductsOfFp8AccumulateFast) {
  const auto is_fast = [&](const KernelDesc& desc) {
    std::string error;
    EXPECT_TRUE(make_cuda_kernel(desc, context(), &error)) << error;
    return library.last_is_fast;
  };
  for (const mpc_dtype_t result : {MPC_DTYPE_BF16, MPC_DTYPE_F32}) {
    EXPECT_TRUE(is_fast(fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, result)));
    EXPECT_FALSE(is_fast(fp8_desc(MPC_DTYPE_F8E5M2, MPC_DTYPE_F8E4M3, result)));
    EXPECT_FALSE(is_fast(fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2, result)));
  }
  for (const Types types : kCudaTypes)
    EXPECT_FALSE(
        is_fast(matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false, types)));
}

TEST_F(CudaMatmul, RoundsToTf32WhereTheCallSaysSo) {
  // 1 + 2^-11 has no place in TF32, of which 2^-10 is the last bit; ties go to
  // even.
  std::vector<float> lhs(16, 1 + 0x1p-11f), rhs(16, 1), result(16);
  const cuda::CUdeviceptr operands[] = {
      reinterpret_cast<cuda::CUdeviceptr>(lhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(rhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(result.data())};
  KernelDesc desc = {KernelId::matmul,
                     {{MPC_DTYPE_F32, {4, 4}},
                      {MPC_DTYPE_F32, {4, 4}},
                      {MPC_DTYPE_F32, {4, 4}}},
                     {0, 0}};
  const auto product = [&] {
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context(), &error);
    if (!kernel) return -1.0f;
    EXPECT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
    return result[0];
  };
  EXPECT_EQ(product(), 4 + 0x1p-9f);
  desc.attributes = {0, 0, 0};
  EXPECT_EQ(product(), 4 + 0x1p-9f);
  // What is kept of trials tells them apart.
  desc.attributes = {0, 0, 1};
  const size_t heuristics = library.heuristics;
  EXPECT_EQ(product(), 4);
  EXPECT_EQ(library.heuristics, heuristics + 1);
}

TEST_F(CudaMatmul, RefusesWhatNoMatrixUnitTakes) {
  std::string error;
  const auto refuse = [&](KernelDesc desc, const CudaContext& device) {
    EXPECT_FALSE(make_cuda_kernel(desc, device, &error));
    return error;
  };
  KernelDesc desc =
      fp8_desc(MPC_DTYPE_F8E5M2, MPC_DTYPE_F8E5M2, MPC_DTYPE_BF16);
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operand 1 must be f8e4m3, found f8e5m2");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2, MPC_DTYPE_F16);
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operand 4 must be bf16 or f32, found f16");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16, MPC_DTYPE_BF16);
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operand 1 must be f8e4m3 or f8e5m2, found bf16");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  CudaContext ampere = context();
  ampere.compute_capability = 80;
  EXPECT_EQ(refuse(desc, ampere),
            "scaled_matmul: f8e4m3 needs compute capability 8.9, Fake H200 has "
            "8.0; compile with option 'precision'=bf16");
  desc.operands[1].shape = {32, 16};
  desc.attributes[1] = 0;
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operands of 8 bit must both have rows along the "
            "sum");
  desc = unscaled(desc);
  EXPECT_EQ(refuse(desc, context()),
            "matmul: operands of 8 bit must both have rows along the sum");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  desc.operands[0].shape[2] = desc.operands[1].shape[1] = 24;
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operands of 8 bit must have extents that are "
            "multiples of 16, found a sum over 24 and 16 columns");
}

TEST_F(CudaMatmul, LinearLayersAreOneProduct) {
  std::string error;
  CudaContext device = context();
  device.deterministic = true;
  const auto kernel =
      make_cuda_kernel(matmul_desc({{2, 3, 5, 7}, {7, 11}, {2, 3, 5, 11}},
                                   false, false, kCudaTypes[0]),
                       device, &error);
  ASSERT_TRUE(kernel) << error;
  std::vector<float> lhs(2 * 3 * 5 * 7), rhs(77), result(2 * 3 * 5 * 11);
  const cuda::CUdeviceptr operands[] = {
      reinterpret_cast<cuda::CUdeviceptr>(lhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(rhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(result.data())};
  library.products = 0;
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr), "");
  EXPECT_EQ(library.products, 1u);
}

TEST_F(CudaMatmul, TakesTheFastestThatRuns) {
  library.algorithms = {{10}, {5, 0, 0, true}, {7, 1 << 20}, {8}};
  const CudaContext device = context();
  EXPECT_EQ(chosen(device), "cublasLt:algo 2, 7.0 us, fastest of 4");
  std::string error;
  const auto kernel = make(device, &error);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->workspace_bytes(), size_t{1} << 20);
}

TEST_F(CudaMatmul, AsksForAtMost32MiB) {
  library.algorithms = {{10}, {1, (32 << 20) + 1}};
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
}

TEST_F(CudaMatmul, RemembersWithinTheProcess) {
  library.algorithms = {{10}, {7}};
  CudaContext device = context();
  device.cache_folder = "";
  chosen(device);
  const size_t products = library.products;
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, the fastest of an earlier trial");
  // One, so that a capture need not load code.
  EXPECT_EQ(library.products, products + 1);
  // Another session's kernels use it,
  device.shared = make_cuda_shared();
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, the fastest of an earlier trial");
  // and another device's know nothing of it.
  device.device_name = "Fake A100";
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, 7.0 us, fastest of 2");
}

TEST_F(CudaMatmul, RemembersBetweenProcesses) {
  library.algorithms = {{10}, {7}};
  chosen(context());
  EXPECT_TRUE(std::filesystem::exists(cache_file()));
  library.products = 0;
  EXPECT_EQ(chosen(context()),
            "cublasLt:algo 1, the fastest of an earlier trial");
  EXPECT_EQ(library.products, 1u);
}

TEST_F(CudaMatmul, AnotherVersionOrDeviceIsTriedAnew) {
  chosen(context());
  CudaContext other = context();
  other.device_name = "Fake A100";
  EXPECT_EQ(chosen(other), "cublasLt:algo 0, 10.0 us, fastest of 1");
  library.version = 130003;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
}

TEST_F(CudaMatmul, ARememberedAlgorithmThatCannotRunIsTriedAnew) {
  library.algorithms = {{10}, {7}};
  chosen(context());
  library.algorithms[1].broken = true;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 2");
  library.algorithms = {{7}, {10}};
  EXPECT_EQ(chosen(context()),
            "cublasLt:algo 0, the fastest of an earlier trial");
  library.algorithms[0].refused = library.algorithms[0].broken = true;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 1, 10.0 us, fastest of 2");
}

TEST_F(CudaMatmul, ADamagedFileIsTriedAnewAndRewritten) {
  chosen(context());
  std::string whole;
  {
    std::ifstream file(cache_file());
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  // Cut anywhere, and each byte another.
  for (size_t i = 0; i < 2 * whole.size(); ++i) {
    std::string damaged = whole.substr(0, i);
    if (i >= whole.size()) {
      damaged = whole;
      damaged[i - whole.size()] ^= 1;
    }
    // The end of the last line may be missing.
    if (damaged == whole.substr(0, whole.size() - 1)) continue;
    std::ofstream(cache_file(), std::ios::binary) << damaged;
    ASSERT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1") << i;
    std::ifstream file(cache_file());
    ASSERT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), whole)
        << i;
  }
}

TEST_F(CudaMatmul, WorksWhereNothingCanBeKept) {
  std::ofstream(folder) << "a file where the folder should be";
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
  EXPECT_TRUE(std::filesystem::is_regular_file(folder));
}

TEST_F(CudaMatmul, DeterministicTakesTheFirstWithoutATrial) {
  library.algorithms = {{10, 0, 1}, {9, 0, 2}, {1}};
  CudaContext device = context();
  device.deterministic = true;
  EXPECT_EQ(chosen(device),
            "cublasLt:algo 1, first of the heuristic, for the same bits in "
            "every run");
  EXPECT_EQ(library.products, 1u);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// The types of a product, and what may add the parts of its sums: parts in 16
// bits would be rounded once each, and those in f16 may overflow.
TEST_F(CudaMatmul, NeverAddsPartsInSixteenBits) {
  const auto chosen_of = [&](Types types, const CudaContext& device) {
    std::string error;
    const auto kernel = make_cuda_kernel(
        matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false, types), device,
        &error);
    return kernel ? kernel->implementation() : error;
  };
  for (const bool ignores_mask : {false, true}) {
    // INPLACE, OUTPUT_TYPE, COMPUTE_TYPE and not cut at all.
    library.algorithms = {{1, 0, 1}, {2, 0, 4}, {3, 0, 2}, {4}};
    for (auto& algorithm : library.algorithms)
      algorithm.ignores_mask = ignores_mask;
    CudaContext device = context();
    for (const Types types : kCudaTypes) {
      const bool wide = types.result == MPC_DTYPE_F32;
      device.deterministic = false;
      EXPECT_EQ(chosen_of(types, device),
                wide ? "cublasLt:algo 0, 1.0 us, fastest of 4"
                     : "cublasLt:algo 2, 3.0 us, fastest of 2");
      device.deterministic = true;
      EXPECT_EQ(chosen_of(types, device),
                "cublasLt:algo 2, first of the heuristic, for the same bits in "
                "every run");
    }
    std::filesystem::remove_all(folder);
  }
}

// An earlier version may have kept such an algorithm.
TEST_F(CudaMatmul, AKeptAlgorithmThatAddsInSixteenBitsIsTriedAnew) {
  library.algorithms = {{10}, {7, 0, 2}};
  EXPECT_EQ(chosen(context()), "cublasLt:algo 1, 7.0 us, fastest of 2");
  library.algorithms[1].reduction = cuda::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
}

// The arena of a program that fills the device.
TEST_F(CudaMatmul, TrialsTakeWhatIsIdle) {
  library.algorithms = {{10}, {7, 100}};
  CudaContext device = context();
  device.cache_folder = "";
  std::vector<unsigned char> arena(1 << 14);
  const auto first = reinterpret_cast<uintptr_t>(arena.data());
  device.idle.address = (first + 255) / 256 * 256;
  device.idle.bytes = arena.size() - (device.idle.address - first);
  // Room for what is left: the flush of the caches, which are 4 KiB here.
  driver.memory_bytes = 8192;
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, 7.0 us, fastest of 2");
  EXPECT_EQ(driver.used_bytes, 0u);
  // Operands that do not fit there come from the device, if they can.
  device.idle.bytes = 300;
  device.device_name = "another";
  EXPECT_NE(chosen(device).find("as a trial failed: cuMemAlloc_v2"),
            std::string::npos);
  driver.memory_bytes = 1 << 20;
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, 7.0 us, fastest of 2");
}

TEST_F(CudaMatmul, WithoutRoomForATrialTakesTheFirst) {
  library.algorithms = {{10}, {7}};
  driver.memory_bytes = 1000;
  EXPECT_EQ(chosen(context()),
            "cublasLt:algo 0, first of the heuristic, as a trial failed: "
            "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (as asked for)");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Cublaslt, TheLibraryThatSuitsTheDriverIsLookedForFirst) {
  for (const int version : {13000, 13010, 0})
    EXPECT_STREQ(cuda::cublaslt_files(version)[0], "libcublasLt.so.13");
  for (const int version : {11080, 12000, 12090}) {
    EXPECT_STREQ(cuda::cublaslt_files(version)[0], "libcublasLt.so.12");
    EXPECT_EQ(cuda::cublaslt_files(version).size(), 2u);
  }
}

TEST_F(CudaMatmul, SaysWhatFailed) {
  std::string error;
  library.failing = "cublasLtCreate";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(error.find("matmul: cublasLtCreate: "), std::string::npos) << error;
  // The library of CUDA 13 does not start on a driver of CUDA 12.
  EXPECT_EQ(error.find("needs a driver"), std::string::npos) << error;
  driver.version = 12040;
  library.failing = "cublasLtCreate";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(
      error.find("; cuBLASLt 13 needs a driver of CUDA 13, this one is of "
                 "12.4: update it, or put libcublasLt.so.12 into "
                 "LD_LIBRARY_PATH"),
      std::string::npos)
      << error;
  driver.version = 13000;
  library.failing = "cublasLtMatrixLayoutCreate";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(error.find("matmul: cublasLtMatrixLayoutCreate: "),
            std::string::npos)
      << error;
  library.failing = "cublasLtMatmulAlgoGetHeuristic";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_EQ(error,
            "matmul: cublasLtMatmulAlgoGetHeuristic: "
            "CUBLAS_STATUS_NOT_SUPPORTED");
  library.algorithms = {{1, 0, 0, true}};
  EXPECT_FALSE(make(context(), &error));
  EXPECT_EQ(error, "matmul: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
  CudaContext fixed = context();
  fixed.deterministic = true;
  EXPECT_FALSE(make(fixed, &error));
  EXPECT_EQ(error, "matmul: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
  library.algorithms = {};
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(error.find("knows no algorithm"), std::string::npos) << error;

  library.algorithms = {{1}};
  const auto kernel = make(context(), &error);
  ASSERT_TRUE(kernel) << error;
  library.failing = "cublasLtMatmul";
  const cuda::CUdeviceptr operands[3] = {64, 64, 64};
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr),
            "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
}

TEST_F(CudaMatmul, DriverErrorsOfATrialEndIt) {
  for (const char* call : {"cuEventRecord", "cuEventSynchronize",
                           "cuMemsetD8Async", "cuEventElapsedTime"}) {
    driver.failing = call;
    std::string error;
    EXPECT_FALSE(make(context(), &error));
    EXPECT_EQ(error, std::string("matmul: ") + call +
                         ": CUDA_ERROR_UNKNOWN (as asked for)");
  }
}

TEST_F(CudaMatmul, RefusesWhatTheDeviceCannot) {
  std::string error;
  CudaContext device = context();
  device.cublaslt = nullptr;
  device.cublaslt_missing = "no such file";
  EXPECT_FALSE(make(device, &error));
  EXPECT_EQ(error, "matmul: cuBLASLt is missing: no such file");
  device = context();
  device.compute_capability = 75;
  EXPECT_FALSE(make(device, &error));
  EXPECT_EQ(error,
            "matmul: bf16 needs compute capability 8.0, Fake H200 has 7.5; "
            "compile with option 'precision'=fp16");
  EXPECT_FALSE(
      make_cuda_kernel(matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false,
                                   {MPC_DTYPE_F64, MPC_DTYPE_F64}),
                       context(), &error));
  EXPECT_EQ(error, "matmul: f64 is not computed on CUDA; compile for cpu");
  EXPECT_FALSE(make_cuda_kernel(
      matmul_desc({{2, 70000, 1, 1, 1}, {3, 1, 1, 1}, {2, 70000, 3, 1, 1}},
                  false, false, kCudaTypes[0]),
      context(), &error));
}

}  // namespace
}  // namespace mpc::test
