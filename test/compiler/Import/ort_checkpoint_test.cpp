// Checkpoints of ONNX Runtime: those written by its own package, compared with
// their contents according to that package; and damaged and malicious ones,
// which may be rejected but must do no harm.

#include "compiler/Import/TrainingStep/OrtCheckpoint.h"

#include "tools/npz/Npz.h"

#include "gtest/gtest.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

using namespace mpc;

namespace {

const std::string kFolder = MPC_ORT_ARTIFACTS;

std::vector<char> bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The message of an error; "" if there is none.
template <typename T> std::string messageOf(llvm::Expected<T> &result) {
  return result ? "" : llvm::toString(result.takeError());
}

llvm::Expected<OrtCheckpoint> parse(const std::vector<char> &bytes,
                                    const std::string &path = "checkpoint") {
  return parseOrtCheckpoint({llvm::StringRef(bytes.data(), bytes.size()), path},
                            nullptr);
}

std::vector<float> numbersOf(llvm::ArrayRef<char> bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

std::vector<std::string> namesOf(const std::vector<OrtTensor> &tensors) {
  std::vector<std::string> names;
  for (const OrtTensor &tensor : tensors)
    names.push_back(tensor.name.str());
  return names;
}

//===----------------------------------------------------------------------===//
// As the package writes them
//===----------------------------------------------------------------------===//

/// Expects the tensor to equal that array of the golden, or its beginning.
void expectEqual(const OrtTensor &tensor, const npz::Array &golden,
                 bool isBegin = false) {
  SCOPED_TRACE(tensor.name.str());
  EXPECT_EQ(tensor.dataType, onnx::TensorProto::FLOAT);
  std::vector<float> expected = numbersOf(golden.data);
  std::vector<float> found = numbersOf(tensor.data.bytes);
  if (isBegin)
    found.resize(expected.size());
  else
    EXPECT_EQ(tensor.shape, llvm::ArrayRef<int64_t>(golden.shape));
  EXPECT_EQ(found, expected);
}

TEST(OrtCheckpoint, AreReadAsThePackageReadsThem) {
  unsigned checkpoints = 0;
  for (const auto &entry : std::filesystem::directory_iterator(kFolder)) {
    if (!entry.is_directory()) // For example the manifest.
      continue;
    SCOPED_TRACE(entry.path().string());
    npz::Reader golden(entry.path().string() + "/golden.npz");
    auto checkpoint = readOrtCheckpoint(entry.path().string() + "/checkpoint");
    ASSERT_EQ(messageOf(checkpoint), "");
    EXPECT_FALSE(checkpoint->isNominal);
    EXPECT_TRUE(checkpoint->groups.empty());
    size_t expected = 0;
    for (const std::string &name : golden.names())
      expected += name.rfind("parameter/", 0) == 0;
    EXPECT_EQ(checkpoint->trained.size() + checkpoint->frozen.size(), expected);
    for (const auto *list : {&checkpoint->trained, &checkpoint->frozen})
      for (const OrtTensor &tensor : *list) {
        npz::Array after = golden.read("parameter/" + tensor.name.str());
        EXPECT_EQ(tensor.shape, llvm::ArrayRef<int64_t>(after.shape));
        std::string before = "initial/" + tensor.name.str();
        if (golden.has(before))
          expectEqual(tensor, golden.read(before), /*isBegin=*/true);
        else // external/, which has not been trained.
          expectEqual(tensor, after);
      }
    ++checkpoints;
  }
  EXPECT_GE(checkpoints, 18u);
}

TEST(OrtCheckpoint, TellsTrainedFromFrozen) {
  auto checkpoint = readOrtCheckpoint(kFolder + "/mlp-bce-frozen/checkpoint");
  ASSERT_EQ(messageOf(checkpoint), "");
  // In the order of the model.
  EXPECT_EQ(namesOf(checkpoint->trained),
            (std::vector<std::string>{"second.weight", "second.bias",
                                      "last.weight", "last.bias"}));
  EXPECT_EQ(namesOf(checkpoint->frozen),
            (std::vector<std::string>{"first.weight", "first.bias"}));
}

TEST(OrtCheckpoint, HasTheOptimizersStateAndProperties) {
  std::string folder = kFolder + "/mlp-ce-adamw";
  npz::Reader golden(folder + "/golden.npz");
  auto checkpoint = readOrtCheckpoint(folder + "/checkpoint-step-5");
  ASSERT_EQ(messageOf(checkpoint), "");
  ASSERT_EQ(checkpoint->trained.size(), 6u);
  for (const OrtTensor &tensor : checkpoint->trained)
    expectEqual(tensor, golden.read("parameter-step-5/" + tensor.name.str()));
  ASSERT_EQ(checkpoint->groups.size(), 1u);
  const OrtOptimizerGroup &group = checkpoint->groups[0];
  EXPECT_EQ(group.name, "group0");
  EXPECT_EQ(group.step, 5);
  EXPECT_EQ(group.initialLearningRate, 0.001f);
  ASSERT_EQ(group.states.size(), 6u);
  for (const OrtParameterState &state : group.states) {
    EXPECT_EQ(namesOf(state.momentums),
              (std::vector<std::string>{"momentum0", "momentum1"}));
    for (const OrtTensor &momentum : state.momentums)
      expectEqual(momentum, golden.read(momentum.name.str() + "-step-5/" +
                                        state.parameter.str()));
  }
  ASSERT_EQ(checkpoint->ints.size(), 1u);
  EXPECT_EQ(checkpoint->ints[0].first, "epoch");
  EXPECT_EQ(checkpoint->ints[0].second, 3);
  ASSERT_EQ(checkpoint->floats.size(), 1u);
  EXPECT_EQ(checkpoint->floats[0].first, "best loss");
  EXPECT_EQ(checkpoint->floats[0].second, 0.25f);
  ASSERT_EQ(checkpoint->strings.size(), 1u);
  EXPECT_EQ(checkpoint->strings[0].first, "note");
  EXPECT_EQ(checkpoint->strings[0].second, "größer");
}

TEST(OrtCheckpoint, NominalCheckpointsHaveOnlyNames) {
  auto checkpoint =
      readOrtCheckpoint(kFolder + "/mlp-ce-adamw/nominal_checkpoint");
  ASSERT_EQ(messageOf(checkpoint), "");
  EXPECT_TRUE(checkpoint->isNominal);
  ASSERT_EQ(checkpoint->trained.size(), 6u);
  EXPECT_EQ(checkpoint->trained[0].name, "first.weight");
  for (const OrtTensor &tensor : checkpoint->trained) {
    EXPECT_TRUE(tensor.shape.empty());
    EXPECT_TRUE(tensor.data.bytes.empty());
  }
}

// Tensors remain valid when the checkpoint has been destroyed.
TEST(OrtCheckpoint, DataOutlivesTheCheckpoint) {
  std::vector<TensorBytes> data;
  {
    auto checkpoint = readOrtCheckpoint(kFolder + "/external/checkpoint");
    ASSERT_EQ(messageOf(checkpoint), "");
    for (const OrtTensor &tensor : checkpoint->trained)
      data.push_back(tensor.data);
  }
  npz::Reader golden(kFolder + "/external/golden.npz");
  ASSERT_EQ(data.size(), 2u);
  EXPECT_EQ(numbersOf(data[0].bytes),
            numbersOf(golden.read("parameter/weight").data)); // In a file.
  EXPECT_EQ(numbersOf(data[1].bytes),
            numbersOf(golden.read("parameter/bias").data)); // In the other.
}

//===----------------------------------------------------------------------===//
// Damaged ones
//===----------------------------------------------------------------------===//

void expectGood(const OrtTensor &tensor, bool isNominal) {
  EXPECT_FALSE(tensor.name.empty());
  auto count = countElements(tensor.shape);
  ASSERT_EQ(messageOf(count), "");
  EXPECT_EQ(tensor.data.bytes.size(),
            isNominal ? 0 : size_t(*count) * dataTypeSize(tensor.dataType));
  // Read everything, so that sanitizers detect missing data.
  volatile char last = 0;
  for (char byte : tensor.data.bytes)
    last = byte;
  (void)last;
}

/// Expects either an error in one line or a checkpoint with all its data;
/// returns whether it is a checkpoint.
bool expectClearAnswer(const std::vector<char> &bytes) {
  auto checkpoint = parse(bytes, kFolder + "/external/checkpoint");
  if (!checkpoint) {
    std::string message = messageOf(checkpoint);
    EXPECT_NE(message, "");
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return false;
  }
  for (const auto *list : {&checkpoint->trained, &checkpoint->frozen})
    for (const OrtTensor &tensor : *list)
      expectGood(tensor, checkpoint->isNominal);
  for (const OrtOptimizerGroup &group : checkpoint->groups)
    for (const OrtParameterState &state : group.states)
      for (const OrtTensor &momentum : state.momentums)
        expectGood(momentum, checkpoint->isNominal);
  return true;
}

class Damaged : public testing::TestWithParam<const char *> {
protected:
  const std::vector<char> whole = bytesOf(kFolder + "/" + GetParam());
};

TEST_P(Damaged, AtEveryLength) {
  EXPECT_TRUE(expectClearAnswer(whole));
  size_t good = 0;
  for (size_t length = 0; length < whole.size(); ++length) {
    SCOPED_TRACE(length);
    good += expectClearAnswer({whole.begin(), whole.begin() + length});
  }
  EXPECT_LE(good, 8u); // Only the padding at the end may be missing.
}

TEST_P(Damaged, ByRandomBits) {
  std::mt19937 random(20261122);
  int good = 0;
  for (int round = 0; round < 5000; ++round) {
    SCOPED_TRACE(round);
    std::vector<char> damaged = whole;
    for (int flips = 1 + random() % 4; flips > 0; --flips)
      damaged[random() % damaged.size()] ^= char(1 << random() % 8);
    good += expectClearAnswer(damaged);
  }
  // Both outcomes occur.
  EXPECT_GT(good, 50);
  EXPECT_LT(good, 4950);
}

// Each four-byte field set to extreme values.
TEST_P(Damaged, ByExtremes) {
  for (size_t place = 0; place + 4 <= whole.size(); place += 2)
    for (uint32_t extreme :
         {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu, 0xfffffffcu}) {
      std::vector<char> damaged = whole;
      std::memcpy(damaged.data() + place, &extreme, 4);
      expectClearAnswer(damaged);
    }
}

INSTANTIATE_TEST_SUITE_P(Files, Damaged,
                         testing::Values("mlp-ce-adamw/nominal_checkpoint",
                                         "external/checkpoint",
                                         "mlp-bce-frozen/checkpoint",
                                         "mlp-ce-adamw/checkpoint-step-5"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           for (char &c : name)
                             c = std::isalnum(c) ? c : '_';
                           return name;
                         });

TEST(OrtCheckpoint, RejectsOtherFiles) {
  auto messageFor = [](const std::string &path) {
    auto checkpoint = readOrtCheckpoint(path);
    return messageOf(checkpoint);
  };
  std::string model = messageFor(kFolder + "/cnn-sgd/training_model.onnx");
  EXPECT_EQ(model.find("not a checkpoint of ONNX Runtime"), 0u) << model;
  EXPECT_EQ(messageFor(kFolder + "/cnn-sgd").find("a folder, as ONNX"), 0u);
  EXPECT_EQ(messageFor(kFolder + "/none").find("cannot open"), 0u);
  std::vector<char> wrong = bytesOf(kFolder + "/cnn-sgd/checkpoint");
  wrong[4] = 'o';
  auto checkpoint = parse(wrong);
  EXPECT_EQ(messageOf(checkpoint).find("not a checkpoint of ONNX"), 0u);
}

// Reading works for any alignment of the buffer.
TEST(OrtCheckpoint, AtOddAddresses) {
  std::vector<char> bytes = bytesOf(kFolder + "/cnn-sgd/checkpoint");
  bytes.insert(bytes.begin(), 3, '\0');
  auto checkpoint = parseOrtCheckpoint(
      {llvm::StringRef(bytes.data() + 3, bytes.size() - 3), "checkpoint"},
      nullptr);
  ASSERT_EQ(messageOf(checkpoint), "");
  bytes.assign(bytes.size(), '\0');
  EXPECT_EQ(checkpoint->trained[0].name, "conv1.weight");
}

} // namespace
