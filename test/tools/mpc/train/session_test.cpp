// Sessions on devices that do not exist.

#include "kernels/cuda/driver/driver.h"
#include "test/runtime/package.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/checkpoints/TrainedOptions.h"

#include <gtest/gtest.h>

using namespace mpc;

namespace {

/// While it exists, the machine has no driver.
class WithoutDriver {
public:
  WithoutDriver() {
    cuda::replace_driver(nullptr, "cannot load libcuda.so.1: not in this test");
  }
  ~WithoutDriver() { cuda::replace_driver(nullptr); }
};

/// A package of a program for the CPU and for CUDA.
test::Bytes makePackage() {
  test::PackageOptions options;
  options.ptx = {"sm_80"};
  return test::make_package(options);
}

TEST(Session, MissingDeviceIsExitStatus8) {
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

/// A program whose package records these compile options.
tool::Program
makeProgram(const test::Folder &folder, const char *name,
            const std::vector<std::pair<std::string, std::string>> &compiled) {
  test::PackageOptions options;
  options.edit = [&](program::ProgramT &program) {
    program.options.clear();
    for (const auto &[option, value] : compiled) {
      program.options.push_back(std::make_unique<program::OptionT>());
      program.options.back()->name = option;
      program.options.back()->value = value;
    }
  };
  std::string path = folder / name;
  test::write_bytes(path, test::make_package(options));
  return tool::Program(path);
}

std::vector<std::string> textsOf(const std::vector<tool::OptionChange> &list) {
  std::vector<std::string> texts;
  for (const tool::OptionChange &change : list)
    texts.push_back(change.name + " " + change.before + " " + change.now);
  return texts;
}

TEST(TrainedOptions, TellWhatDiffers) {
  test::Folder folder;
  tool::Program first = makeProgram(folder, "a.mpc",
                                    {{"loss", "mse"},
                                     {"optimizer", "adam"},
                                     {"lr", "0.1"},
                                     {"weight-decay", "0.1"},
                                     {"precision", "bf16"}});
  tool::Session session(first, {});
  // An older checkpoint, which does not record options.
  EXPECT_FALSE(tool::compareOptions(session, first).known);

  tool::rememberOptions(session, first);
  tool::OptionChanges none = tool::compareOptions(session, first);
  EXPECT_TRUE(none.known);
  EXPECT_TRUE(none.compatible.empty() && none.incompatible.empty() &&
              !none.rate);

  // Options that one of the two does not record are not compared.
  tool::Program second = makeProgram(folder, "b.mpc",
                                     {{"loss", "l1"},
                                      {"optimizer", "adam"},
                                      {"lr", "0.2"},
                                      {"weight-decay", "0.5"},
                                      {"beta1", "0.8"}});
  tool::OptionChanges changes = tool::compareOptions(session, second);
  EXPECT_EQ(textsOf(changes.incompatible),
            std::vector<std::string>{"loss 'mse' 'l1'"});
  // The rate before is that of the session, which --lr may have set.
  ASSERT_EQ(changes.compatible.size(), 2u);
  EXPECT_EQ(changes.compatible[0].name, "lr");
  EXPECT_EQ(changes.compatible[0].now, "'0.2'");
  EXPECT_EQ(textsOf(changes.compatible)[1], "weight-decay '0.1' '0.5'");
  EXPECT_TRUE(changes.rate);
}

TEST(Session, AutoFallsBackToTheCpuWithANote) {
  WithoutDriver nobody;
  test::Folder folder;
  std::string path = folder / "m.mpc";
  test::write_bytes(path, makePackage());
  tool::Program program(path);
  ::testing::internal::CaptureStderr();
  tool::Session session(program, {});
  std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(said.find("mpc: note: running on cpu: "), 0u) << said;
  EXPECT_NE(said.find("libcuda.so.1"), std::string::npos) << said;
}

TEST(Session, PlainCpuPrintsNoNote) {
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
