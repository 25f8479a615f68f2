// `mpc inspect` of packages that this compiler does not make.

#include "test/runtime/package.h"
#include "tools/mpc/Command.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

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

/// The message of the Failure that inspecting the package throws.
std::string failure(const std::string &path, const std::string &more = "") {
  CLI::App app;
  tool::Action action = tool::addInspect(app);
  app.parse("inspect " + path + more);
  try {
    action();
  } catch (const tool::Failure &failure) {
    return failure.what();
  }
  return "";
}

std::string writePackage(const test::Folder &folder,
                         std::function<void(program::ProgramT &)> edit) {
  test::PackageOptions options;
  options.edit = std::move(edit);
  test::write_bytes(folder / "m.mpc", test::make_package(options));
  return folder / "m.mpc";
}

TEST(Inspect, VerifiesBeforeReading) {
  test::Folder folder;
  std::string newer =
      writePackage(folder, [](program::ProgramT &p) { p.format = 2; });
  EXPECT_EQ(failure(newer),
            newer + ": package format 2 is newer than the 1 that this runtime "
                    "reads");
  // A package that this machine cannot run is shown if nothing else is wrong.
  std::string foreign = writePackage(folder, [](program::ProgramT &p) {
    p.variants[0]->cpu_features = {"avx9000"};
  });
  EXPECT_NE(inspect(foreign, false).find("cannot run here: "),
            std::string::npos);
  std::string wrong = writePackage(folder, [](program::ProgramT &p) {
    p.variants[0]->entries[2]->instructions[0]->kernel = 999;
    p.variants[0]->entries.back()->instructions[0]->operands[0]->offset = 1
                                                                          << 30;
  });
  EXPECT_NE(failure(wrong).find("lies outside the "), std::string::npos)
      << failure(wrong);
}

TEST(Inspect, NeedsNoSegments) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<program::Entry>> entries;
  std::vector<flatbuffers::Offset<program::Variant>> variants = {
      program::CreateVariantDirect(builder, "cpu", nullptr, nullptr, 0, 0,
                                   &entries)};
  program::FinishProgramBuffer(
      builder, program::CreateProgramDirect(builder, 1, nullptr, nullptr,
                                            nullptr, nullptr, 0, &variants));
  test::Bytes bytes(builder.GetBufferPointer(),
                    builder.GetBufferPointer() + builder.GetSize());
  bytes.resize(bytes.size() + 16);
  test::seal(&bytes);
  test::Folder folder;
  test::write_bytes(folder / "m.mpc", bytes);
  EXPECT_NE(inspect(folder / "m.mpc", false).find("segments"),
            std::string::npos);
  EXPECT_EQ(failure(folder / "m.mpc", " --ptx sm_80"),
            "the package has no PTX for 'sm_80'");
}

// Unescaped, these names would clear the screen or overwrite a line.
TEST(Inspect, EscapesControlCharactersInNames) {
  test::Folder folder;
  std::string path = writePackage(folder, [](program::ProgramT &p) {
    p.model = "m\x1b[2J\r\xff";
    p.states[0]->slots[0]->name = "w\nstates\xc2\x9b";
  });
  std::string text = inspect(path, false);
  EXPECT_EQ(text.find_first_of("\x1b\r\xff\xc2"), std::string::npos) << text;
  EXPECT_NE(text.find("from m\\x1b[2J\\x0d\\xff by"), std::string::npos)
      << text;
  EXPECT_NE(text.find("w\\x0astates\\xc2\\x9b"), std::string::npos) << text;
  // JSON has its own escapes, but none for invalid UTF-8.
  EXPECT_NE(inspect(path, true).find("m\\u001b[2J\\r\xef\xbf\xbd"),
            std::string::npos);
}

} // namespace
