// What `mpc inspect` says of packages that no compiler here makes.

#include "test/runtime/package.h"
#include "tools/mpc/Command.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <cstdio>

using namespace mpc;

namespace {

std::string inspect(const std::string &path, bool json) {
  CLI::App app;
  tool::Action action = tool::addInspect(app);
  std::string line = "inspect " + path + (json ? " --instructions --json" : "");
  app.parse(line);
  ::testing::internal::CaptureStdout();
  int exitCode = action();
  std::fflush(stdout);
  std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(exitCode, 0);
  return printed;
}

TEST(Inspect, TellsTheImagesOfAGpu) {
  test::Folder folder;
  std::string path = folder / "m.mpc";
  test::PackageOptions options;
  options.ptx = {"sm_80"};
  options.cubins = {"sm_90"};
  test::write_bytes(path, test::make_package(options));
  std::string text = inspect(path, false);
  EXPECT_NE(text.find("for cuda (PTX sm_80 and cubin sm_90): "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("arena on cuda"), std::string::npos) << text;
  EXPECT_NE(text.find("for cpu: "), std::string::npos) << text;

  std::string json = inspect(path, true);
  EXPECT_NE(json.find("\"threads\": 1"), std::string::npos) << json;
  EXPECT_NE(json.find("\"cubin sm_90\""), std::string::npos) << json;
}

} // namespace
