// libmpccompiler: compiling in a program that then trains.

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "mpc/compiler.h"
#include "mpc/runtime.hpp"

extern "C" mpc_status_t compile_with_defaults(const char *model,
                                              mpc_compilation_t **out);

namespace {

const std::string kModel = MPC_DIGITS "/mlp.onnx";

struct Destroy {
  void operator()(mpc_compile_options_t *options) const {
    mpc_compile_options_destroy(options);
  }
  void operator()(mpc_compilation_t *compilation) const {
    mpc_compilation_destroy(compilation);
  }
};
using Options = std::unique_ptr<mpc_compile_options_t, Destroy>;
using Compilation = std::unique_ptr<mpc_compilation_t, Destroy>;

struct Outcome {
  mpc_code_t code;
  std::string message;
};
Outcome take(mpc_status_t status) {
  Outcome outcome = {mpc_status_code(status), mpc_status_message(status)};
  mpc_status_free(status);
  return outcome;
}

Outcome set(const Options &options, const char *name, const char *value) {
  return take(mpc_compile_options_set(options.get(), name, value));
}

Options no_options() {
  mpc_compile_options_t *made = nullptr;
  EXPECT_EQ(take(mpc_compile_options_create(&made)).code, MPC_OK);
  return Options(made);
}

Options
make_options(const std::vector<std::pair<const char *, const char *>> &values) {
  Options options = no_options();
  for (auto [name, value] : values) {
    Outcome outcome = set(options, name, value);
    EXPECT_EQ(outcome.code, MPC_OK) << outcome.message;
  }
  return options;
}

// The outcome of a compilation that must fail.
Outcome try_compile(const std::string &model, const Options &options,
                    const char *output = nullptr) {
  mpc_compilation_t *made = nullptr;
  Outcome outcome =
      take(mpc_compile(model.c_str(), output, options.get(), &made));
  EXPECT_EQ(made, nullptr);
  return outcome;
}

mpc::Program load(const Compilation &compilation) {
  size_t size = 0;
  const void *package = mpc_compilation_package(compilation.get(), &size);
  EXPECT_NE(package, nullptr);
  mpc::Program program;
  mpc::Status status = program.load_memory(package, size);
  EXPECT_FALSE(status) << status.message();
  return program;
}

Compilation compile(const Options &options) {
  mpc_compilation_t *made = nullptr;
  Outcome outcome =
      take(mpc_compile(kModel.c_str(), nullptr, options.get(), &made));
  EXPECT_EQ(outcome.code, MPC_OK) << outcome.message;
  return Compilation(made);
}

class CompilerLibrary : public ::testing::Test {
protected:
  CompilerLibrary() {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
  }
  ~CompilerLibrary() override {
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
};

TEST_F(CompilerLibrary, CompilesAProgramThatTrains) {
  Compilation compilation = compile(make_options(
      {{"batch", "8,4"}, {"lr", "0.01"}, {"freeze", "fc2[.]bias"}}));
  mpc::Program program = load(compilation);
  EXPECT_EQ(program.option("lr"), "0.01");
  EXPECT_EQ(program.option("freeze"), "fc2[.]bias");
  EXPECT_EQ(program.batch_sizes("step"), (std::vector<uint64_t>{8, 4}));
  const std::string report = mpc_compilation_report(compilation.get());
  EXPECT_EQ(report.front(), '{');
  std::string notes;
  for (size_t i = 0; i < mpc_compilation_num_notes(compilation.get()); ++i)
    notes += mpc_compilation_note(compilation.get(), i);
  EXPECT_NE(notes.find("loss: softmax-cross-entropy"), std::string::npos);
  EXPECT_EQ(notes.find("--"), std::string::npos) << notes;

  mpc::Session session;
  mpc::Status created = session.create(program, {});
  ASSERT_FALSE(created) << created.message();
  std::vector<float> images(4 * 64, 0.5f);
  std::vector<int64_t> labels = {1, 2, 3, 4};
  const int64_t image_shape[] = {4, 1, 8, 8}, label_shape[] = {4};
  std::vector<mpc_tensor_t> batch = {
      {sizeof(mpc_tensor_t), MPC_DTYPE_F32, 4, image_shape, images.data(), {}},
      {sizeof(mpc_tensor_t), MPC_DTYPE_I64, 1, label_shape, labels.data(), {}}};
  mpc_step_info_t info = {};
  mpc::Status stepped = session.step(batch, &info);
  ASSERT_FALSE(stepped) << stepped.message();
  EXPECT_EQ(info.step, 1u);
}

TEST_F(CompilerLibrary, WritesFiles) {
  const std::string path = testing::TempDir() + "compiler-library.mpc";
  mpc_compilation_t *made = nullptr;
  Outcome outcome =
      take(mpc_compile(kModel.c_str(), path.c_str(), nullptr, &made));
  ASSERT_EQ(outcome.code, MPC_OK) << outcome.message;
  Compilation compilation(made);
  size_t size = 1;
  EXPECT_EQ(mpc_compilation_package(made, &size), nullptr);
  EXPECT_EQ(size, 0u);
  mpc::Program program;
  mpc::Status status = program.load_file(path);
  EXPECT_FALSE(status) << status.message();
  std::remove(path.c_str());
}

TEST_F(CompilerLibrary, RefusesWrongOptions) {
  Options options = no_options();
  EXPECT_EQ(set(options, "precison", "fp32").message,
            "unknown option 'precison'; did you mean 'precision'?");
  Outcome outcome = set(options, "ema", "2");
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message, "option 'ema' must be in [0, 1), but is '2'");
  // A refused value changes nothing.
  EXPECT_EQ(set(options, "batch", "4,4").code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(load(compile(options)).batch_sizes("step"),
            (std::vector<uint64_t>{32}));
  // Options that have no effect together are found when compiling.
  outcome = try_compile(kModel, make_options({{"nesterov", "yes"}}));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("option 'nesterov'"), std::string::npos)
      << outcome.message;
  outcome = try_compile(kModel, make_options({{"freeze", "no such weight"}}));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("option 'freeze'='no such weight'"),
            std::string::npos)
      << outcome.message;
  EXPECT_EQ(try_compile(kModel, make_options({{"target", "tpu"}})).message,
            "unknown target 'tpu'");
}

TEST_F(CompilerLibrary, NamesTheNodeOrFileThatIsWrong) {
  const std::string path = testing::TempDir() + "broken.onnxtxt";
  std::ofstream(path) << "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                         "m (float[N, 2] x) => (float[N, 2] y) {\n"
                         "  y = NoSuchOp (x)\n}\n";
  Outcome outcome = try_compile(path, nullptr);
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("NoSuchOp"), std::string::npos)
      << outcome.message;
  std::remove(path.c_str());
  EXPECT_EQ(try_compile("/nowhere/model.onnx", nullptr).code, MPC_IO);
  EXPECT_EQ(try_compile(kModel, nullptr, "/nowhere/model.mpc").code, MPC_IO);
}

TEST_F(CompilerLibrary, RefusesNull) {
  mpc_compilation_t *made = nullptr;
  EXPECT_EQ(take(mpc_compile(nullptr, nullptr, nullptr, &made)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(take(mpc_compile(kModel.c_str(), nullptr, nullptr, nullptr)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(take(mpc_compile_options_set(nullptr, "lr", "1")).code,
            MPC_INVALID_ARGUMENT);
  Options options = no_options();
  EXPECT_EQ(set(options, nullptr, "1").code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(take(mpc_compile_options_create(nullptr)).code,
            MPC_INVALID_ARGUMENT);
  mpc_compilation_destroy(nullptr);
  mpc_compile_options_destroy(nullptr);
  EXPECT_EQ(mpc_compilation_note(nullptr, 0), nullptr);
  EXPECT_STREQ(mpc_compilation_report(nullptr), "");
  EXPECT_EQ(mpc_compilation_package(nullptr, nullptr), nullptr);
}

// The values of a state of a new session.
std::vector<float> initial_values(const Compilation &compilation,
                                  const char *name, size_t count) {
  mpc::Program program = load(compilation);
  mpc::Session session;
  mpc::Status created = session.create(program, {});
  EXPECT_FALSE(created) << created.message();
  std::vector<float> values(count);
  const int64_t shape[] = {int64_t(count)};
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 1,
                         shape,          values.data(), {}};
  Outcome outcome = take(mpc_session_read_state(session.get(), name, &tensor));
  EXPECT_EQ(outcome.code, MPC_OK) << outcome.message;
  return values;
}

// A safetensors file with one tensor of f32.
void write_safetensors(const std::string &path, const std::string &name,
                       const std::vector<float> &values) {
  const size_t bytes = values.size() * sizeof(float);
  std::string header = "{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" +
                       std::to_string(values.size()) +
                       "],\"data_offsets\":[0," + std::to_string(bytes) + "]}}";
  const uint64_t size = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&size), sizeof(size));
  file << header;
  file.write(reinterpret_cast<const char *>(values.data()), bytes);
}

TEST_F(CompilerLibrary, BeginsWithWeightsOfAFile) {
  const std::string path = testing::TempDir() + "/weights.safetensors";
  std::vector<float> values;
  for (int i = 0; i < 10; ++i)
    values.push_back(0.5f * i);
  write_safetensors(path, "head.bias", values);
  EXPECT_EQ(initial_values(compile(make_options({{"init", path.c_str()},
                                                 {"map-names", "head=fc2"},
                                                 {"init-strict", "off"}})),
                           "fc2.bias", 10),
            values);
  const Outcome strict = try_compile(
      kModel,
      make_options({{"init", path.c_str()}, {"map-names", "head=fc2"}}));
  EXPECT_EQ(strict.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(strict.message.find("it lacks 'fc1.weight'"), std::string::npos)
      << strict.message;
  EXPECT_NE(strict.message.find("option 'init-strict'=off"), std::string::npos)
      << strict.message;
  const Outcome alone =
      try_compile(kModel, make_options({{"map-names", "a=b"}}));
  EXPECT_EQ(alone.message, "option 'map-names' requires option 'init'");
  const Outcome none =
      try_compile(kModel, make_options({{"init", "/none.safetensors"}}));
  EXPECT_EQ(none.code, MPC_IO) << none.message;
  std::remove(path.c_str());
}

TEST_F(CompilerLibrary, CompilesInSeveralThreads) {
  Options options = make_options({{"precision", "fp32"}, {"batch", "4"}});
  std::vector<std::string> packages(2);
  std::vector<std::thread> threads;
  for (std::string &package : packages)
    threads.emplace_back([&] {
      Compilation made = compile(options);
      size_t size = 0;
      const void *bytes = mpc_compilation_package(made.get(), &size);
      package.assign(static_cast<const char *>(bytes), size);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(packages[0].size(), 0u);
  EXPECT_EQ(packages[0], packages[1]);
}

TEST_F(CompilerLibrary, IsUsableFromC) {
  mpc_compilation_t *made = nullptr;
  Outcome outcome = take(compile_with_defaults(kModel.c_str(), &made));
  EXPECT_EQ(outcome.code, MPC_OK) << outcome.message;
  mpc_compilation_destroy(made);
}

} // namespace
