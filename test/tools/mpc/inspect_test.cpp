// What `mpc inspect` says of packages that no compiler here makes.

#include "test/runtime/package.h"
#include "tools/mpc/Command.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <cstdio>

using namespace mpc;

namespace {

/// A package for cpu and cuda, with PTX of one architecture and machine code
/// of another.
test::Bytes makeCudaPackage() {
  test::PackageOptions options;
  options.edit = [](program::ProgramT &root) {
    auto cuda = std::make_unique<program::VariantT>(*root.variants.front());
    cuda->device = "cuda";
    cuda->cpu.clear();
    cuda->cpu_features.clear();
    for (auto &entry : cuda->entries)
      for (auto &instruction : entry->instructions)
        if (instruction->function >= 0)
          instruction->threads = 128;
    root.variants.push_back(std::move(cuda));
    for (auto [kind, target] :
         {std::pair(program::SegmentKind::Ptx, "sm_80"),
          std::pair(program::SegmentKind::Cubin, "sm_90")}) {
      // Empty: nothing looks at the code itself.
      auto segment =
          std::make_unique<program::SegmentT>(*root.segments.front());
      segment->kind = kind;
      segment->target = target;
      segment->size = 0;
      segment->checksum = 0x2D06800538D394C2; // XXH3 of nothing
      root.segments.push_back(std::move(segment));
    }
  };
  return test::make_package(options);
}

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
  test::write_bytes(path, makeCudaPackage());
  std::string text = inspect(path, false);
  EXPECT_NE(text.find("for cuda (PTX sm_80 and cubin sm_90): "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("arena on cuda"), std::string::npos) << text;
  EXPECT_NE(text.find("for cpu: "), std::string::npos) << text;

  std::string json = inspect(path, true);
  EXPECT_NE(json.find("\"threads\": 128"), std::string::npos) << json;
  EXPECT_NE(json.find("\"cubin sm_90\""), std::string::npos) << json;
}

} // namespace
