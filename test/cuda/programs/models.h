// What tests of models share: batches for them, and sessions on both devices.

#ifndef MPC_TEST_CUDA_PROGRAMS_MODELS_H_
#define MPC_TEST_CUDA_PROGRAMS_MODELS_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "test/cuda/programs/programs.h"

namespace mpc::test {

inline const char* batch_entry(const Program& program) {
  return program.has_entry("step") ? "step" : "accumulate";
}

// Batches of blurred digits, or of texts in which one token is frequent, which
// the models learn quickly.
class Batches {
 public:
  explicit Batches(const Program& program, const std::string& size = "")
      : inputs_(
            values_of(program.inputs((batch_entry(program) + size).c_str()))) {}

  std::vector<mpc_tensor_t> next() {
    std::uniform_real_distribution<float> noise(0, 0.3f);
    Values& images = inputs_[0];
    Values& labels = inputs_[1];
    size_t pixels = images.count() / labels.count();
    for (size_t n = 0; n < labels.count(); ++n) {
      auto label = static_cast<int64_t>(random_() % 10);
      labels.as<int64_t>(n) = label;
      for (size_t p = 0; p < pixels; ++p) {
        bool lit = (p * 7 + static_cast<size_t>(label) * 13) % 10 < 4;
        if (images.info.dtype == MPC_DTYPE_I64)
          images.as<int64_t>(n * pixels + p) =
              lit ? -label - 1 : static_cast<int64_t>(random_() % 20);
        else
          images.as<float>(n * pixels + p) = noise(random_) + (lit ? 0.7f : 0);
      }
    }
    return tensors_of(inputs_);
  }

 private:
  std::mt19937 random_{3};
  std::vector<Values> inputs_;
};

class GpuModels : public Programs {
 protected:
  bool is(const char* precision) const {
    return GetParam().find(precision) != std::string::npos;
  }
  // Checked code is slow.
#ifdef __SANITIZE_ADDRESS__
  static constexpr int kSimulatedSteps = 4;
#else
  static constexpr int kSimulatedSteps = 25;
#endif
  int steps() const { return simulated_ ? kSimulatedSteps : 200; }
  // Whether this test should leave out this model: in checked code, models of
  // one precision show the same errors of memory as those of all.
  bool is_left_out() const {
#ifdef __SANITIZE_ADDRESS__
    return !is("bf16") && !std::getenv("MPC_LONG");
#else
    return false;
#endif
  }

  mpc_step_info_t step(Session& session, Batches& batches) {
    mpc_step_info_t info = {};
    Status status = session.step(batches.next(), &info);
    EXPECT_FALSE(status) << status.message();
    return info;
  }
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_PROGRAMS_MODELS_H_
