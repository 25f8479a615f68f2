// A device that reports a step one call later trains exactly as the CPU does.

#include "test/runtime/cuda/kernels.h"
#include "tools/mpc/checkpoints/TrainProperties.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/training/console/TrainConsole.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <sstream>

using namespace mpc;
using test::Folder;

/// Defined in ../runtime/generated.c.
extern "C" void test_gradient(void *const *operands, int64_t begin,
                              int64_t end);

namespace {

template <typename T>
npz::Array makeArray(const char *name, const char *dtype,
                     std::vector<int64_t> shape, const std::vector<T> &values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {name, dtype, std::move(shape), std::move(bytes)};
}

/// Writes eleven samples, one of which overflows in 16 bit.
void writeData(const std::string &path, float special) {
  constexpr int64_t count = 11;
  std::vector<float> x;
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    for (int j = 0; j < 4; ++j)
      x.push_back(i == 6 ? special : 0.25f * i - 0.5f * j);
    labels.push_back(i % 2);
  }
  npz::write(path, {makeArray("x", "float32", {count, 4}, x),
                    makeArray("labels", "int64", {count}, labels)});
}

/// A log without its evaluations.
std::string stepsOf(const std::string &log) {
  std::istringstream lines(log);
  std::string steps;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("{\"step\"", 0) == 0)
      steps += line + "\n";
  return steps;
}

class TrainerTest : public ::testing::Test {
protected:
  void SetUp() override {
    test::add_package_kernels(&fake);
    writeData(folder / "data.npz", 1e6f);
    options.data = options.evalData = folder / "data.npz";
    options.seed = 3;
    setAccumulate(1);
  }
  void TearDown() override {
    EXPECT_EQ(fake.leaks(), "");
    EXPECT_EQ(fake.error(), "");
  }

  void setAccumulate(uint32_t count) {
    test::PackageOptions package = test::cuda_package();
    package.accumulate = count;
    options.package = folder / "m.mpc";
    test::write_bytes(options.package, test::make_package(package));
  }

  /// Writes data for one epoch of 100 equal batches.
  void writeOneEpoch() {
    std::vector<float> x(4 * 400, 1);
    std::vector<int64_t> labels(400, 0);
    npz::write(options.data.path,
               {makeArray("x", "float32", {400, 4}, x),
                makeArray("labels", "int64", {400}, labels)});
  }

  /// Trains and returns the output on stdout, except for the last line about
  /// the device, which goes to `deviceLine`.
  std::string train(const char *device) {
    options.session.device = device;
    options.session.threads = 1;
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    try {
      tool::Program program(options.package);
      tool::Dataset data(options.data, program.inputs(program.stepEntry()));
      tool::Dataset evalData(options.evalData, program.inputs("evaluate"));
      tool::TrainConsole console({true, true, {}}, options, program);
      tool::Trainer trainer(options, program, data, &evalData, console);
      EXPECT_EQ(console.finish(trainer, trainer.run()), tool::Ok);
    } catch (const tool::Failure &failure) {
      std::printf("error %d: %s\n", failure.exitCode, failure.what());
    }
    std::fflush(stdout);
    notes = ::testing::internal::GetCapturedStderr();
    std::string log = ::testing::internal::GetCapturedStdout();
    size_t begin = log.rfind("{\"device\"");
    deviceLine = begin == std::string::npos ? "" : log.substr(begin);
    return log.substr(0, begin);
  }

  /// The parameters in each checkpoint of a folder, by the checkpoint's name.
  std::vector<std::pair<std::string, test::Bytes>>
  checkpoints(const std::string &path) {
    std::vector<std::pair<std::string, test::Bytes>> found;
    for (const std::string &name : test::names_in(path))
      if (name.rfind("step-", 0) == 0)
        found.push_back(
            {name, test::read_bytes(path + "/" + name + "/model.safetensors")});
    return found;
  }

  Folder folder;
  test::FakeDriver fake;
  tool::TrainOptions options;
  std::string notes, deviceLine;
};

/// The log of a GPU ends with the device that computed the steps; that of a CPU
/// has no such line.
TEST_F(TrainerTest, TheLogEndsWithTheDevice) {
  options.epochs = 2;
  train("cpu");
  EXPECT_EQ(deviceLine, "");
  train("cuda");
  EXPECT_EQ(
      deviceLine.rfind("{\"device\":\"cuda:0 Fake GPU\",\"kernels\":[", 0), 0u)
      << deviceLine;
  EXPECT_EQ(deviceLine.back(), '\n');
}

TEST_F(TrainerTest, LogsAndCheckpointsDoNotDependOnTheDevice) {
  for (uint32_t accumulate : {1u, 3u})
    for (uint64_t every : {0u, 1u, 2u, 5u}) {
      setAccumulate(accumulate);
      options.epochs = 7;
      options.checkpointEvery = every;
      options.keep = 0;
      std::string name = std::to_string(accumulate) + std::to_string(every);
      options.checkpointDir = folder / ("cpu" + name);
      std::string expected = train("cpu");
      auto checkpointsOfCpu = checkpoints(options.checkpointDir);
      options.checkpointDir = folder / ("cuda" + name);
      EXPECT_EQ(train("cuda"), expected) << name;
      EXPECT_EQ(notes.find("mpc: note: running on cuda:0 Fake GPU\n"), 0u)
          << notes;
      EXPECT_EQ(checkpoints(options.checkpointDir), checkpointsOfCpu) << name;
      EXPECT_NE(expected.find("\"skipped\":true"), std::string::npos);
      EXPECT_NE(expected.find("eval_loss"), std::string::npos);
      EXPECT_FALSE(checkpointsOfCpu.empty());
    }
}

TEST_F(TrainerTest, TakesExactlyTheStepsThatAreAskedFor) {
  for (uint32_t accumulate : {1u, 3u}) {
    setAccumulate(accumulate);
    for (uint64_t steps : {1u, 2u, 3u, 8u}) {
      options.steps = steps;
      std::string expected = train("cpu");
      EXPECT_EQ(train("cuda"), expected);
      std::string last = "{\"step\":" + std::to_string(steps) + ",";
      EXPECT_NE(expected.find(last), std::string::npos) << expected;
      last = "{\"step\":" + std::to_string(steps + 1) + ",";
      EXPECT_EQ(expected.find(last), std::string::npos) << expected;
    }
  }
}

TEST_F(TrainerTest, ResumesOnTheOtherDevice) {
  setAccumulate(3);
  options.steps = 9;
  std::string whole = stepsOf(train("cpu"));
  options.checkpointDir = folder / "run";
  options.steps = 4;
  std::string parts = stepsOf(train("cuda"));
  options.steps = 9;
  options.resume = true;
  parts += stepsOf(train("cpu"));
  EXPECT_EQ(parts, whole);
}

/// Older versions kept the order of any number of samples in memory; newer ones
/// compute that of many samples, and record it.
TEST_F(TrainerTest, ContinuesInTheOrderOfOlderVersions) {
  constexpr int64_t count = tool::kMaxStoredOrder + 1, batch = 4;
  auto write = [&](const std::string &path,
                   const std::vector<uint64_t> &samples) {
    std::vector<float> x;
    for (uint64_t sample : samples)
      for (int j = 0; j < 4; ++j)
        x.push_back((sample * 7 + j) % 1000 * 0.001f);
    const int64_t size = samples.size();
    npz::write(path, {makeArray("x", "float32", {size, 4}, x),
                      makeArray("labels", "int64", {size},
                                std::vector<int64_t>(size, 0))});
  };
  options.data = folder / "many.npz";
  write(options.data.path, tool::batchAt(0, count, count));
  options.learningRate = 0;
  options.steps = 2;
  options.checkpointDir = folder / "run";
  train("cpu");
  {
    tool::Program program(options.package);
    tool::Session session(program, options.session);
    std::string mismatch;
    session.loadLatest(options.checkpointDir, mismatch);
    EXPECT_EQ(session.property(tool::kOrder), "computed");
    session.setProperty(tool::kOrder, "");
    tool::check(mpc_session_save_checkpoint(session.get(),
                                            (folder / "run/step-3").c_str()));
  }
  options.steps = 4;
  options.resume = true;
  std::string found = stepsOf(train("cpu"));

  const std::vector<uint64_t> order = tool::permute(count, *options.seed, 0);
  write(options.data.path, {order.begin(), order.begin() + 4 * batch});
  options.checkpointDir.clear();
  options.resume = false;
  options.noShuffle = true;
  std::string expected = stepsOf(train("cpu"));
  EXPECT_EQ(found, expected.substr(expected.find("{\"step\":3,")));
}

TEST_F(TrainerTest, WaitsForTheDeviceNoMoreOftenInALongRun) {
  options.noShuffle = true;
  writeOneEpoch();
  auto waits = [&](uint64_t steps) {
    options.steps = steps;
    fake.reset_calls();
    train("cuda");
    return fake.calls("cuStreamSynchronize") + fake.calls("cuStreamQuery");
  };
  uint64_t few = waits(10), many = waits(90);
  EXPECT_GT(few, 0u);
  EXPECT_EQ(few, many);
}

/// Only the last batch of an update may end the run or cause a checkpoint, so
/// the trainer waits only for it; otherwise the device is one step behind.
TEST_F(TrainerTest, WaitsForNoBatchInTheMiddleOfAnUpdate) {
  size_t computed = 0, waited = 0;
  fake.add_kernel("test_gradient", std::vector<size_t>(5, sizeof(void *)),
                  [&](void *const *parameters) {
                    void *operands[5];
                    for (int i = 0; i < 5; ++i)
                      std::memcpy(&operands[i], parameters[i], sizeof(void *));
                    test_gradient(operands, 0, 1);
                    ++computed;
                    // The fake device computes when the host waits.
                    waited += fake.calls("cuEventRecord") ==
                              fake.calls("cuEventSynchronize");
                  });
  writeOneEpoch();
  setAccumulate(8);
  options.steps = 4;
  options.checkpointDir = folder / "run";
  options.checkpointEvery = 2;
  fake.reset_calls();
  train("cuda");
  EXPECT_EQ(computed, 32u);
  EXPECT_EQ(waited, 2u);
}

TEST_F(TrainerTest, NamesNanInputsOfEarlierSteps) {
  writeData(options.data.path, std::numeric_limits<float>::quiet_NaN());
  options.noShuffle = true;
  options.epochs = 3;
  std::string expected = train("cpu");
  EXPECT_NE(expected.find("error 6: step 2: the loss is nan, "),
            std::string::npos)
      << expected;
  EXPECT_NE(expected.find("x[6,"), std::string::npos) << expected;
  EXPECT_EQ(train("cuda"), expected);
}

TEST_F(TrainerTest, AStepThatFailsOnTheDeviceEndsTheRun) {
  options.steps = 50;
  train("cuda");
  uint64_t calls = fake.calls();
  fake.fail_at(calls / 2, cuda::CUDA_ERROR_LAUNCH_FAILED, /*sticky=*/true);
  std::string said = train("cuda");
  EXPECT_NE(said.find("error 8: "), std::string::npos) << said;
  EXPECT_NE(said.find("CUDA_ERROR_LAUNCH_FAILED"), std::string::npos) << said;
  fake.fail_at(0);
}

} // namespace
