//===- compile_test.cpp - The compiler as a library -----------------------===//
//
// It returns a result or an error, prints nothing, and mentions no flag.
//
//===----------------------------------------------------------------------===//

#include "passes/Driver/Examine.h"
#include "passes/Driver/Pipeline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace mpc;

namespace {

class Compile : public ::testing::Test {
protected:
  Compile() {
    options.model = MPC_DIGITS "/mlp.onnx";
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
  }
  ~Compile() override {
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  }

  CompileOptions options;
};

std::string everything(const CompileResult &result) {
  std::string text = result.error + result.diagnostics;
  for (const std::string &note : result.notes)
    text += note;
  return text;
}

TEST_F(Compile, ReturnsThePackageThatItWouldWrite) {
  CompileResult inMemory = mpc::compile(options);
  ASSERT_FALSE(failed(inMemory.failure)) << everything(inMemory);
  EXPECT_EQ(inMemory.package.size(), inMemory.packageBytes);

  options.output = testing::TempDir() + "/compile-test.mpc";
  CompileResult toFile = mpc::compile(options);
  ASSERT_FALSE(failed(toFile.failure)) << everything(toFile);
  EXPECT_EQ(toFile.package, "");
  std::ostringstream written;
  written << std::ifstream(options.output, std::ios::binary).rdbuf();
  EXPECT_TRUE(written.str() == inMemory.package);
  std::remove(options.output.c_str());
}

TEST_F(Compile, NamesOptionsInNotes) {
  CompileResult result = mpc::compile(options);
  std::string text = everything(result);
  EXPECT_NE(text.find("use option 'batch' to change it"), std::string::npos);
  EXPECT_EQ(text.find("--"), std::string::npos) << text;
}

TEST_F(Compile, SaysWhichOptionIsWrong) {
  options.ema = 2;
  CompileResult result = mpc::compile(options);
  EXPECT_EQ(result.failure, ModelError::Usage);
  EXPECT_NE(result.error.find("option 'ema' must be in [0, 1)"),
            std::string::npos);
  EXPECT_EQ(result.package, "");
}

TEST_F(Compile, SaysWhichOptionDoesNotFitTheModel) {
  options.freeze = {"no such weight"};
  CompileResult result = mpc::compile(options);
  EXPECT_EQ(result.failure, ModelError::Usage);
  EXPECT_NE(result.diagnostics.find("option 'freeze'='no such weight'"),
            std::string::npos)
      << result.diagnostics;
}

TEST_F(Compile, SaysThatThereIsNoModel) {
  options.model = testing::TempDir() + "/no-such-model.onnx";
  CompileResult result = mpc::compile(options);
  EXPECT_EQ(result.failure, ModelError::Io);
  EXPECT_NE(result.diagnostics.find("no-such-model"), std::string::npos);

  Examination found = examineModel(options);
  EXPECT_EQ(found.failure, ModelError::Io);
  EXPECT_NE(found.diagnostics.find("no-such-model"), std::string::npos);
}

} // namespace
