// Device code, and kernels that only move bytes, on a real device.

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cuda/driver/device_images.h"
#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

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

}  // namespace
}  // namespace mpc::test
