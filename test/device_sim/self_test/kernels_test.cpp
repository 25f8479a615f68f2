// The sample kernels compute correct results in every order of threads.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "test/device_sim/device_sim.h"
#include "test/device_sim/self_test/sample_kernels.h"

// In c_kernel.c.
extern "C" void mpc_test_row_sums(const float* in, float* out, int n);

namespace mpc::device_sim {
namespace {

// Multiples of 1/4, so that sums of a few thousand are exact in any order.
std::vector<float> quarters(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i * 37 % 101) / 4 - 12;
  return values;
}

TEST(Kernels, SumOf1024) {
  const std::vector<float> in = quarters(1024);
  std::vector<float> out(1, -1);
  ASSERT_EQ(run_in_all_orders(
                {{"out", out}},
                [&] { return samples::sum_1024(in.data(), out.data()); }),
            "");
  float sum = 0;
  for (float value : in) sum += value;
  EXPECT_EQ(out[0], sum);
}

TEST(Kernels, TransposeOfOddSizes) {
  for (const auto& [rows, columns] :
       {std::pair{1, 1}, {1, 70}, {33, 31}, {64, 32}, {67, 97}}) {
    const std::vector<float> in = quarters(rows * columns);
    std::vector<float> out(in.size(), -1);
    ASSERT_EQ(run_in_all_orders({{"out", out}},
                                [&, rows = rows, columns = columns] {
                                  return samples::transpose(
                                      in.data(), out.data(), rows, columns);
                                }),
              "");
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        ASSERT_EQ(out[column * rows + row], in[row * columns + column]);
  }
}

TEST(Kernels, SumOfColumnsInTwoSteps) {
  constexpr int kRows = 131, kColumns = 77, kParts = 5;
  std::vector<float> in(kRows * kColumns);
  // Not exact: the result depends on the order of the sum.
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = 1.0f / static_cast<float>(i % 997 + 1);
  std::vector<float> partial(kParts * kColumns), out(kColumns);
  ASSERT_EQ(run_in_all_orders({{"partial", partial}, {"out", out}},
                              [&] {
                                return samples::sum_columns(
                                    in.data(), partial.data(), out.data(),
                                    kRows, kColumns, kParts);
                              }),
            "");
  for (int column = 0; column < kColumns; ++column) {
    float sum = 0;
    for (int part = 0; part < kParts; ++part) {
      float of_part = 0;
      for (int row = kRows * part / kParts; row < kRows * (part + 1) / kParts;
           ++row)
        of_part += in[row * kColumns + column];
      sum += of_part;
    }
    EXPECT_EQ(out[column], sum) << column;
  }
}

TEST(Kernels, HistogramByAtomics) {
  std::vector<unsigned> in(1000);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<unsigned>(i * i % 1009);
  std::vector<unsigned> counts(13), largest(1);
  ASSERT_EQ(run_in_all_orders({{"counts", counts}, {"largest", largest}},
                              [&] {
                                return samples::histogram(in.data(), 1000,
                                                          counts.data(), 13,
                                                          largest.data());
                              }),
            "");
  std::vector<unsigned> expected(13);
  for (unsigned value : in) ++expected[value % 13];
  EXPECT_EQ(counts, expected);
  EXPECT_EQ(largest[0], *std::max_element(in.begin(), in.end()));
}

TEST(Kernels, ReverseRowsFourAtATime) {
  constexpr int kRows = 3, kN = 300;
  const std::vector<float> in = quarters(kRows * kN);
  std::vector<float> out(in.size());
  ASSERT_EQ(run_in_all_orders({{"out", out}},
                              [&] {
                                return samples::reverse_rows(
                                    in.data(), out.data(), kRows, kN);
                              }),
            "");
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < kN; ++i)
      ASSERT_EQ(out[row * kN + i], in[row * kN + kN - 1 - i]);
}

TEST(Kernels, PlainSharedArray) {
  const std::vector<float> in = quarters(5 * 128);
  std::vector<float> out(in.size());
  ASSERT_EQ(
      run_in_all_orders(
          {{"out", out}},
          [&] { return samples::plain_shared(in.data(), out.data(), 5); }),
      "");
  for (int i = 0; i < 5 * 128; ++i)
    ASSERT_EQ(out[i], in[i / 128 * 128 + 127 - i % 128]);
}

// Code like that of a generator: C functions without exception tables.
TEST(Kernels, RowSumsInC) {
  constexpr int kRows = 5, kColumns = 77;
  const std::vector<float> in = quarters(kRows * kColumns);
  std::vector<float> out(kRows);
  ASSERT_EQ(run_in_all_orders({{"out", out}},
                              [&] {
                                return run({{kRows}, {64}}, [&] {
                                  mpc_test_row_sums(in.data(), out.data(),
                                                    kColumns);
                                });
                              }),
            "");
  for (int row = 0; row < kRows; ++row) {
    float sum = 0;
    for (int i = 0; i < kColumns; ++i) sum += in[row * kColumns + i];
    EXPECT_EQ(out[row], sum);
  }
}

TEST(Kernels, MillionBlocks) {
  constexpr uint32_t kBlocks = 1 << 20;
  std::vector<uint8_t> times(kBlocks);
  ASSERT_EQ(
      run({{kBlocks}, {32}}, [&] { times[mpc_sim_position.block.x] += 1; }),
      "");
  EXPECT_EQ(std::count(times.begin(), times.end(), 32), kBlocks);
}

}  // namespace
}  // namespace mpc::device_sim
