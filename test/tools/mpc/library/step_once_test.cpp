// Training step by step on a device that reports a step one call later: each
// result is known when its step returns, and the results are those of a run.

#include "test/runtime/cuda/kernels.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace mpc;

namespace {

template <typename T>
npz::Array makeArray(const char *name, const char *dtype,
                     std::vector<int64_t> shape, const std::vector<T> &values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return {name, dtype, std::move(shape), std::move(bytes)};
}

struct Losses : tool::TrainObserver {
  std::vector<double> all;
  void stepped(const mpc_step_info_t &, double loss) override {
    all.push_back(loss);
  }
};

class StepOnceTest : public ::testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override {
    test::add_package_kernels(&fake);
    test::PackageOptions package = test::cuda_package();
    package.accumulate = GetParam();
    options.package = folder / "m.mpc";
    test::write_bytes(options.package, test::make_package(package));
    constexpr int64_t count = 22;
    std::vector<float> x;
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < count; ++i) {
      for (int j = 0; j < 4; ++j)
        x.push_back(0.25f * static_cast<float>(i % 7) - 0.5f * j);
      labels.push_back(i % 2);
    }
    options.data = folder / "data.npz";
    npz::write(options.data.path,
               {makeArray("x", "float32", {count, 4}, x),
                makeArray("labels", "int64", {count}, labels)});
    options.epochs = 3;
    options.session.device = "cuda";
    options.session.threads = 1;
  }

  /// Trains and returns the losses of all steps.
  std::vector<double> train(bool byStep) {
    tool::Program program(options.package);
    tool::Dataset data(options.data, program.inputs(program.stepEntry()));
    Losses losses;
    tool::Trainer trainer(options, program, data, nullptr, losses);
    if (!byStep) {
      EXPECT_TRUE(trainer.run());
    }
    while (!trainer.hasEnded()) {
      trainer.stepOnce();
      EXPECT_EQ(losses.all.size(), trainer.stepsDone());
    }
    trainer.stepOnce(); // Does nothing.
    EXPECT_EQ(losses.all.size(), trainer.stepsDone());
    return losses.all;
  }

  test::Folder folder;
  test::FakeDriver fake;
  tool::TrainOptions options;
};

TEST_P(StepOnceTest, GivesTheLossesOfARun) {
  std::vector<double> losses = train(/*byStep=*/true);
  EXPECT_GT(losses.size(), 2u);
  EXPECT_EQ(losses, train(/*byStep=*/false));
  EXPECT_EQ(fake.error(), "");
}

// With 3 micro-batches, the last update of an epoch has fewer of them.
INSTANTIATE_TEST_SUITE_P(MicroBatches, StepOnceTest, ::testing::Values(1, 3));

} // namespace
