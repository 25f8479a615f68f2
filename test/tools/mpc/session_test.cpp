// Sessions on devices that are not there.

#include "kernels/cuda/driver.h"
#include "test/runtime/package.h"
#include "tools/mpc/Runtime.h"

#include <gtest/gtest.h>

using namespace mpc;

namespace {

/// The machine has no driver while this lives.
class WithoutDriver {
public:
  WithoutDriver() {
    cuda::replace_driver(nullptr, "cannot load libcuda.so.1: not in this test");
  }
  ~WithoutDriver() { cuda::replace_driver(nullptr); }
};

/// A package for the CPU and, of the same program, for CUDA.
test::Bytes makePackage() {
  test::PackageOptions options;
  options.ptx = {"sm_80"};
  return test::make_package(options);
}

TEST(Session, ADeviceThatIsNotThereIsExitStatus8) {
  WithoutDriver nobody;
  test::Folder folder;
  std::string path = folder / "m.mpc";
  test::write_bytes(path, makePackage());
  tool::Program program(path);
  tool::SessionSettings settings;
  settings.device = "cuda";
  try {
    tool::Session session(program, settings);
    FAIL() << "a session runs on a device that is not there";
  } catch (const tool::Failure &failure) {
    EXPECT_EQ(failure.exitCode, tool::NoDevice);
    EXPECT_NE(std::string(failure.what()).find("libcuda.so.1"),
              std::string::npos)
        << failure.what();
  }
}

TEST(Session, AutoFallsBackToTheCpuAloud) {
  WithoutDriver nobody;
  test::Folder folder;
  std::string path = folder / "m.mpc";
  test::write_bytes(path, makePackage());
  tool::Program program(path);
  ::testing::internal::CaptureStderr();
  tool::Session session(program, {});
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("mpc: note: running on cpu (not on CUDA: "), 0u) << said;
  EXPECT_NE(said.find("libcuda.so.1"), std::string::npos) << said;
}

TEST(Session, ThePlainCpuIsNoNews) {
  test::Folder folder;
  std::string path = folder / "m.mpc";
  test::write_bytes(path, makePackage());
  tool::Program program(path);
  tool::SessionSettings settings;
  settings.device = "cpu";
  ::testing::internal::CaptureStderr();
  tool::Session session(program, settings);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

} // namespace
