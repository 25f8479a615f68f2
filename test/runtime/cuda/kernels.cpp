#include "test/runtime/cuda/kernels.h"

#include <gtest/gtest.h>

#include <cstring>

#include "test/device_sim/abi.h"

// The functions of generated.c, which is linked into this program.
extern "C" {
using Generated = void(void* const* operands, int64_t begin, int64_t end);
Generated test_gradient, test_update, test_accumulate, test_clear,
    test_evaluate, test_count;
}

namespace mpc::test {

namespace {

// x[4,4], w[4,2] -> y[4,2]
void test_matmul(void* const* operands, int64_t, int64_t) {
  auto* x = static_cast<const float*>(operands[0]);
  auto* w = static_cast<const float*>(operands[1]);
  auto* y = static_cast<float*>(operands[2]);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j) {
      float sum = 0;
      for (int k = 0; k < 4; ++k) sum += x[4 * i + k] * w[2 * k + j];
      y[2 * i + j] = sum;
    }
}

// Each block computes the item with its number.
void add(FakeDriver* fake, const char* name, size_t num_operands,
         Generated* function) {
  fake->add_kernel(name,
                   std::vector<size_t>(num_operands, sizeof(cuda::CUdeviceptr)),
                   [num_operands, function](void* const* parameters) {
                     std::vector<void*> operands(num_operands);
                     for (size_t i = 0; i < num_operands; ++i)
                       std::memcpy(&operands[i], parameters[i], sizeof(void*));
                     int64_t item = mpc_sim_block_index(0);
                     function(operands.data(), item, item + 1);
                   });
}

}  // namespace

void add_package_kernels(FakeDriver* fake) {
  add(fake, "test_gradient", 5, test_gradient);
  add(fake, "test_update", 10, test_update);
  add(fake, "test_accumulate", 2, test_accumulate);
  add(fake, "test_clear", 1, test_clear);
  add(fake, "test_evaluate", 5, test_evaluate);
  add(fake, "test_count", 1, test_count);
  add(fake, "test_matmul", 3, test_matmul);
}

PackageOptions cuda_package() {
  PackageOptions options;
  options.ptx = {"sm_80"};
  return options;
}

mpc_status_t try_create(const ProgramPtr& program,
                        const CudaSessionOptions& options,
                        SessionPtr* out_session) {
  mpc_session_options_t given = {};
  given.struct_size = sizeof(given);
  given.device = options.device;
  given.threads = 1;
  given.seed = 42;
  given.asynchronous = options.asynchronous;
  given.stream = options.stream;
  mpc_session_t* session = nullptr;
  mpc_status_t status = mpc_session_create(program.get(), &given, &session);
  out_session->reset(session);
  return status;
}

SessionPtr create_on(const ProgramPtr& program,
                     const CudaSessionOptions& options) {
  SessionPtr session;
  EXPECT_OK(try_create(program, options, &session));
  return session;
}

}  // namespace mpc::test
