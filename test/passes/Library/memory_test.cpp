// libmpccompiler: models in memory, messages in parts, and the list of options.

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "mpc/compiler.h"

namespace {

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Message {
  mpc_compile_message_kind_t kind;
  std::string node, op, text, rule;
};

void keep(void *user, const mpc_compile_message_t *message) {
  EXPECT_EQ(message->struct_size, sizeof(*message));
  static_cast<std::vector<Message> *>(user)->push_back(
      {message->kind, message->node, message->op, message->text,
       message->rule});
}

class CompileMemory : public ::testing::Test {
protected:
  CompileMemory() {
    EXPECT_EQ(mpc_compile_options_create(&options), nullptr);
    mpc_compile_options_set_handler(options, keep, &messages);
  }
  ~CompileMemory() override {
    mpc_compilation_destroy(compilation);
    mpc_compile_options_destroy(options);
  }

  void set(const char *name, const char *value) {
    EXPECT_EQ(mpc_compile_options_set(options, name, value), nullptr);
  }
  mpc_code_t compile(const std::string &model, const char *folder = nullptr) {
    mpc_status_t status = mpc_compile_memory(model.data(), model.size(), folder,
                                             nullptr, options, &compilation);
    const mpc_code_t code = mpc_status_code(status);
    text = mpc_status_message(status);
    mpc_status_free(status);
    EXPECT_EQ(code == MPC_OK, compilation != nullptr);
    return code;
  }

  mpc_compile_options_t *options = nullptr;
  mpc_compilation_t *compilation = nullptr;
  std::vector<Message> messages;
  std::string text;
};

TEST_F(CompileMemory, GivesTheSameProgramAsAFile) {
  const std::string path = MPC_DIGITS "/mlp.onnx";
  ASSERT_EQ(compile(read_file(path)), MPC_OK) << text;
  const size_t notes = mpc_compilation_num_notes(compilation);
  ASSERT_EQ(messages.size(), notes);
  for (size_t i = 0; i < notes; ++i) {
    EXPECT_EQ(messages[i].kind, MPC_COMPILE_NOTE);
    EXPECT_EQ(messages[i].rule, "");
    EXPECT_EQ(messages[i].text, mpc_compilation_note(compilation, i));
  }
  mpc_compilation_t *other = nullptr;
  ASSERT_EQ(mpc_compile(path.c_str(), nullptr, options, &other), nullptr);
  size_t size = 0, other_size = 0;
  mpc_compilation_package(compilation, &size);
  mpc_compilation_package(other, &other_size);
  EXPECT_GT(size, 0u);
  // They differ in the names of the model.
  EXPECT_NEAR(double(size), double(other_size), 1024);
  mpc_compilation_destroy(other);
}

TEST_F(CompileMemory, SaysWhatIsWrongInParts) {
  EXPECT_EQ(compile("not a model"), MPC_INVALID_ARGUMENT);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].kind, MPC_COMPILE_ERROR);
  EXPECT_EQ(messages[0].node, "");
  EXPECT_NE(messages[0].text.find("not an ONNX file"), std::string::npos);
  EXPECT_NE(text.find("model.onnx: error: not an ONNX file"), std::string::npos)
      << text;

  messages.clear();
  set("nesterov", "yes");
  EXPECT_EQ(compile(read_file(MPC_DIGITS "/mlp.onnx")), MPC_INVALID_ARGUMENT);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].kind, MPC_COMPILE_ERROR);
  EXPECT_EQ(messages[0].text, text);
  EXPECT_EQ(messages[0].rule, "option-conflict");
}

// Rules that mpc.CompileError of Python has no messages of, and one of an
// option. test/python has the others.
TEST_F(CompileMemory, HasRulesForAllErrors) {
  auto expect = [&](mpc_status_t status, mpc_code_t code, const char *rule) {
    EXPECT_EQ(mpc_status_code(status), code);
    mpc_status_free(status);
    std::vector<std::string> rules;
    for (const Message &message : messages)
      if (message.kind == MPC_COMPILE_ERROR)
        rules.push_back(message.rule);
    EXPECT_EQ(rules, std::vector<std::string>{rule});
    messages.clear();
  };
  const char *const model = MPC_DIGITS "/mlp.onnx";
  expect(mpc_compile_options_set(options, "precison", "fp32"),
         MPC_INVALID_ARGUMENT, "invalid-option");
  expect(mpc_compile(MPC_DIGITS "/none.onnx", nullptr, options, &compilation),
         MPC_IO, "unreadable-file");
  set("batch", "64");
  set("max-ops", "2");
  expect(mpc_compile(model, nullptr, options, &compilation), MPC_OUT_OF_MEMORY,
         "too-large");
  set("max-ops", "1000");
  expect(mpc_compile(model, MPC_DIGITS "/none/m.mpc", options, &compilation),
         MPC_IO, "unreadable-file");
}

TEST_F(CompileMemory, NamesNodes) {
  const std::string path = testing::TempDir() + "wrong-node.onnxtxt";
  std::ofstream(path) << "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                         "m (float[N, 2] x) => (float[N, 2] y) {\n"
                         "  y = Relu <slope = 1.0> (x)\n}\n";
  mpc_status_t status =
      mpc_compile(path.c_str(), nullptr, options, &compilation);
  EXPECT_EQ(mpc_status_code(status), MPC_INVALID_ARGUMENT);
  mpc_status_free(status);
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().kind, MPC_COMPILE_ERROR);
  EXPECT_EQ(messages.back().node, "y");
  EXPECT_EQ(messages.back().op, "Relu");
  EXPECT_EQ(messages.back().rule, "bad-attribute");
  EXPECT_EQ(messages.back().text.find("node 'y'"), std::string::npos);
  std::remove(path.c_str());
}

TEST_F(CompileMemory, ListsOptions) {
  std::vector<std::string> names;
  for (size_t i = 0; i < mpc_compile_num_options(); ++i) {
    mpc_option_info_t info = {};
    info.struct_size = sizeof(info);
    ASSERT_EQ(mpc_compile_option_info(i, &info), nullptr);
    names.push_back(info.name);
    EXPECT_STRNE(info.help, "") << info.name;
    EXPECT_STRNE(info.section, "") << info.name;
    EXPECT_EQ(info.type == MPC_OPTION_SWITCH, *info.metavar == 0) << info.name;
    // Every option takes its own default.
    if (*info.default_value && info.type != MPC_OPTION_TEXTS)
      set(info.name, info.default_value);
    if (names.back() == "batch") {
      EXPECT_EQ(info.type, MPC_OPTION_INTEGERS);
    }
  }
  EXPECT_EQ(names.front(), "loss");
  EXPECT_GT(names.size(), 60u);
  mpc_option_info_t info = {};
  for (size_t size : {size_t{0}, sizeof(info)}) {
    info.struct_size = size;
    mpc_status_t status = mpc_compile_option_info(names.size(), &info);
    EXPECT_EQ(mpc_status_code(status), MPC_INVALID_ARGUMENT);
    mpc_status_free(status);
  }
}

} // namespace
