// Checkpoints of ONNX Runtime that are valid FlatBuffers with invalid contents,
// and the reader's error for each.

#include "compiler/Import/TrainingStep/OrtCheckpoint.h"
#include "compiler/Import/TrainingStep/ort_checkpoint_generated.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>
#include <functional>
#include <unistd.h>

using namespace mpc;

namespace {

std::unique_ptr<ort::TensorT>
makeTensor(const std::string &name, std::vector<int64_t> dims, size_t bytes) {
  auto tensor = std::make_unique<ort::TensorT>();
  tensor->name = name;
  tensor->dims = std::move(dims);
  tensor->data_type = onnx::TensorProto::FLOAT;
  tensor->raw_data.resize(bytes);
  return tensor;
}

/// Two trained parameters, "w" and "b", a frozen one, "s", the optimizer's
/// state of "w" and three properties.
ort::CheckpointT makeCheckpoint() {
  ort::CheckpointT checkpoint;
  checkpoint.version = 2;
  checkpoint.module_state = std::make_unique<ort::ModuleStateT>();
  auto &trained = checkpoint.module_state->requires_grad_params;
  trained.push_back(makeTensor("w", {2, 3}, 24));
  trained.push_back(makeTensor("b", {}, 4));
  checkpoint.module_state->frozen_params.push_back(makeTensor("s", {0, 5}, 0));
  auto group = std::make_unique<ort::OptimizerGroupT>();
  group->group_name = "group0";
  group->step = 7;
  auto state = std::make_unique<ort::ParameterOptimizerStateT>();
  state->param_name = "w";
  state->momentums.push_back(makeTensor("momentum0", {2, 3}, 24));
  state->momentums.push_back(makeTensor("momentum1", {2, 3}, 24));
  group->optimizer_states.push_back(std::move(state));
  checkpoint.optimizer_groups.push_back(std::move(group));
  checkpoint.property_bag = std::make_unique<ort::PropertyBagT>();
  auto &bag = *checkpoint.property_bag;
  bag.ints.push_back(std::make_unique<ort::IntPropertyT>());
  bag.ints[0]->name = "epoch";
  bag.floats.push_back(std::make_unique<ort::FloatPropertyT>());
  bag.floats[0]->name = "rate";
  bag.strings.push_back(std::make_unique<ort::StringPropertyT>());
  bag.strings[0]->name = "note";
  bag.strings[0]->value = std::string("\xff\0", 2);
  return checkpoint;
}

std::string bytesOf(const ort::CheckpointT &checkpoint) {
  flatbuffers::FlatBufferBuilder builder;
  ort::FinishCheckpointBuffer(builder,
                              ort::Checkpoint::Pack(builder, &checkpoint));
  return {reinterpret_cast<const char *>(builder.GetBufferPointer()),
          builder.GetSize()};
}

/// The reader's error for a checkpoint; "" if it accepts it.
std::string messageOf(llvm::StringRef bytes,
                      const std::string &path = "checkpoint",
                      ModelError *kind = nullptr) {
  auto result = parseOrtCheckpoint({bytes, path}, nullptr);
  if (result)
    return "";
  std::string message;
  llvm::handleAllErrors(result.takeError(), [&](const ModelFileError &error) {
    message = error.message;
    if (kind)
      *kind = error.kind;
  });
  return message;
}

ort::TensorT &w(ort::CheckpointT &checkpoint) {
  return *checkpoint.module_state->requires_grad_params[0];
}

ort::OptimizerGroupT &group(ort::CheckpointT &checkpoint) {
  return *checkpoint.optimizer_groups[0];
}

ort::ParameterOptimizerStateT &state(ort::CheckpointT &checkpoint) {
  return *group(checkpoint).optimizer_states[0];
}

struct Case {
  const char *what;
  std::function<void(ort::CheckpointT &)> change;
  const char *begin; ///< Beginning of the message.
};

using C = ort::CheckpointT;

const Case kCases[] = {
    {"nothing", [](C &) {}, ""},
    {"version 1", [](C &c) { c.version = 1; }, ""},
    {"version 3", [](C &c) { c.version = 3; },
     "the checkpoint is of version 3; 1 and 2 are known"},
    {"no module", [](C &c) { c.module_state.reset(); },
     "the checkpoint has no parameters"},
    {"no properties", [](C &c) { c.property_bag.reset(); }, ""},
    // Names.
    {"no name", [](C &c) { w(c).name = ""; }, "a parameter has no name"},
    {"NUL", [](C &c) { w(c).name = std::string("w\0x", 3); },
     "the name of a parameter holds a NUL; rename it"},
    {"UTF-8", [](C &c) { w(c).name = "\xc3("; },
     "the name of a parameter is not UTF-8; rename it"},
    {"long name", [](C &c) { w(c).name.assign(5000, 'w'); },
     "a parameter has a name of 5000 bytes; at most 4096"},
    {"line break", [](C &c) { w(c).name = "a\nb", w(c).data_type = 8; },
     "parameter 'a b' holds string elements"},
    {"twice", [](C &c) { w(c).name = "b"; },
     "a parameter is called 'b', which is taken"},
    {"trained and frozen", [](C &c) { w(c).name = "s"; },
     "a frozen parameter is called 's', which is taken"},
    {"property twice", [](C &c) { c.property_bag->floats[0]->name = "epoch"; },
     "a property is called 'epoch', which is taken"},
    // Data.
    {"type", [](C &c) { w(c).data_type = 99; },
     "parameter 'w' holds unknown elements, which are not supported"},
    {"half the data", [](C &c) { w(c).data_type = onnx::TensorProto::DOUBLE; },
     "parameter 'w' has 24 bytes of data, but its shape needs 48"},
    {"negative",
     [](C &c) {
       w(c).dims = {-2, -3};
     },
     "parameter 'w' has a negative dimension, -2"},
    {"overflow", [](C &c) { w(c).dims.assign(4, int64_t(1) << 62); },
     "parameter 'w' has more than 2^40 elements"},
    {"overflow to 6",
     [](C &c) {
       w(c).dims = {6, 1LL << 32, 1LL << 32};
     },
     "parameter 'w' has more than 2^40 elements"},
    {"rank", [](C &c) { w(c).dims.assign(100000, 1); },
     "parameter 'w' has 100000 dimensions; at most 8"},
    {"nominal", [](C &c) { c.module_state->is_nominal_state = true; },
     "parameter 'w' has shape or data, but the checkpoint is marked as "
     "nominal"},
    // External data; the file does not exist.
    {"no flag", [](C &c) { w(c).external_data_offset = 0; },
     "parameter 'w' lies in another file, but the checkpoint is marked as "
     "having none"},
    {"before the file", [](C &c) { w(c).external_data_offset = -2; },
     "parameter 'w' begins at byte -2 of another file"},
    {"here and there",
     [](C &c) {
       c.module_state->has_external_data = true;
       w(c).external_data_offset = 0;
     },
     "parameter 'w' stores its data twice"},
    {"nowhere",
     [](C &c) {
       c.module_state->has_external_data = true;
       w(c).external_data_offset = 0;
       w(c).raw_data.clear();
     },
     "parameter 'w': cannot open external data 'checkpoint.data'"},
    // The optimizer.
    {"step", [](C &c) { group(c).step = -1; },
     "optimizer group 'group0' is at step -1"},
    {"group", [](C &c) { group(c).group_name = ""; },
     "an optimizer group has no name"},
    {"of none", [](C &c) { state(c).param_name = "v"; },
     "the optimizer has a state of 'v', which is not a trained parameter"},
    {"of a frozen one", [](C &c) { state(c).param_name = "s"; },
     "the optimizer has a state of 's', which is not a trained parameter"},
    {"momentum twice", [](C &c) { state(c).momentums[1]->name = "momentum0"; },
     "an optimizer state of 'w' is called 'momentum0', which is taken"},
    {"shape",
     [](C &c) {
       state(c).momentums[1]->dims = {3, 2};
     },
     "optimizer state 'momentum1' of 'w' is of another type or shape"},
    {"bytes", [](C &c) { state(c).momentums[0]->raw_data.pop_back(); },
     "optimizer state 'momentum0' of 'w' has 23 bytes of data"},
};

TEST(OrtCheckpointInvalid, ReportsEachDefect) {
  for (const Case &each : kCases) {
    SCOPED_TRACE(each.what);
    ort::CheckpointT checkpoint = makeCheckpoint();
    each.change(checkpoint);
    std::string message = messageOf(bytesOf(checkpoint));
    EXPECT_EQ(message.empty(), std::string(each.begin).empty()) << message;
    EXPECT_EQ(message.find(each.begin), 0u) << message;
  }
}

// A small file that refers to the same tables a hundred thousand times.
TEST(OrtCheckpointInvalid, SharedTables) {
  flatbuffers::FlatBufferBuilder builder;
  auto tensor = makeTensor("w", {2, 3}, 24);
  std::vector<flatbuffers::Offset<ort::Tensor>> many(
      100'000, ort::Tensor::Pack(builder, tensor.get()));
  auto module = ort::CreateModuleStateDirect(builder, &many);
  ort::FinishCheckpointBuffer(builder,
                              ort::CreateCheckpoint(builder, 2, module));
  llvm::StringRef bytes(
      reinterpret_cast<const char *>(builder.GetBufferPointer()),
      builder.GetSize());
  EXPECT_EQ(messageOf(bytes),
            "a parameter is called 'w', which is taken; the checkpoint is "
            "damaged");
}

/// A folder with a checkpoint whose "w" is in a second file.
class External : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("mpc-ort", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  void write(const std::string &name, size_t size) {
    std::ofstream(folder + "/" + name) << std::string(size, 'x');
  }
  std::string message(int64_t offset) {
    ort::CheckpointT checkpoint = makeCheckpoint();
    checkpoint.module_state->has_external_data = true;
    w(checkpoint).external_data_offset = offset;
    w(checkpoint).raw_data.clear();
    return messageOf(bytesOf(checkpoint), folder + "/model.ckpt", &kind);
  }

  std::string folder;
  ModelError kind = ModelError::None;
};

TEST_F(External, InsideTheFile) {
  write("model.ckpt.data", 40);
  EXPECT_EQ(message(0), "");
  EXPECT_EQ(message(16), "");
  EXPECT_EQ(message(17),
            "parameter 'w' needs 24 bytes from byte 17 of 'model.ckpt.data', "
            "which has 40; it is truncated or belongs to another checkpoint");
  EXPECT_EQ(kind, ModelError::Invalid);
  for (int64_t offset : {int64_t(40), int64_t(41), INT64_MAX - 23, INT64_MAX})
    EXPECT_NE(message(offset), "") << offset;
}

TEST_F(External, BesideTheCheckpoint) {
  EXPECT_NE(message(0), "");
  EXPECT_EQ(kind, ModelError::Io);
  write("elsewhere", 40);
  std::string link = folder + "/model.ckpt.data";
  ASSERT_EQ(symlink("elsewhere", link.c_str()), 0);
  EXPECT_NE(message(0).find("symbolic link"), std::string::npos);
  EXPECT_EQ(kind, ModelError::Invalid);
  ASSERT_EQ(unlink(link.c_str()), 0);
  ASSERT_EQ(::link((folder + "/elsewhere").c_str(), link.c_str()), 0);
  EXPECT_NE(message(0).find("hard links"), std::string::npos);
}

} // namespace
