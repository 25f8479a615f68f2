// Operands of more than 2^31 bytes on a real device.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "kernels/float_types.h"
#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

// The number of rows after which operands of more than 2^31 bytes repeat.
constexpr int64_t kPeriod = 251;

std::vector<F16> pattern(int64_t count) {
  std::vector<F16> values;
  for (double value : eighths(1, static_cast<size_t>(count)))
    values.push_back(F16(static_cast<float>(value)));
  return values;
}

// Fills rows of `row` elements from a pattern with kPeriod rows.
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
