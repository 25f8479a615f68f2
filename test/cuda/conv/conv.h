// Convolutions with a fake of cuDNN.

#ifndef MPC_TEST_CUDA_CONV_CONV_H_
#define MPC_TEST_CUDA_CONV_CONV_H_

#include <gtest/gtest.h>

#include "kernels/cuda/kernel.h"
#include "test/cuda/as_kernel.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/fake/fake_cudnn.h"
#include "test/cuda/host_driver.h"
#include "test/cuda/test_images.h"
#include "test/kernels/cases.h"

namespace mpc::test {

using namespace kernels;
using kernels::testing::allowed;
using kernels::testing::conv_desc;
using kernels::testing::conv_terms;
using kernels::testing::ConvCase;
using kernels::testing::kConvKernels;
using kernels::testing::kConvs;
using kernels::testing::kCudaTypes;
using kernels::testing::Types;

class CudaConv : public ::testing::Test {
 protected:
  CudaConv() : library(&driver) { add_device_kernels(&driver); }
  ~CudaConv() override {
    EXPECT_TRUE(driver.allocations.empty());
    EXPECT_TRUE(driver.events.empty());
    EXPECT_EQ(library.handles, 0u);
    EXPECT_EQ(library.descriptors, 0u);
  }

  CudaContext context() const {
    CudaContext made;
    made.driver = driver.table();
    made.cudnn = library.table();
    made.compute_capability = 90;
    made.device_name = "Fake H200";
    made.cache_folder = "";
    return made;
  }
  static KernelDesc desc(KernelId id, Types types) {
    return conv_desc(id, kConvs[3], true, types.dtype, types.result);
  }
  // The engine used by a kernel that is made in this context, or the error.
  std::string chosen(const CudaContext& context, KernelId id = KernelId::conv,
                     Types types = kCudaTypes[3]) {
    std::string error;
    const auto kernel = make_cuda_kernel(desc(id, types), context, &error);
    return kernel ? kernel->implementation() : error;
  }
  void expect_all(const CudaContext& device) {
    for (const ConvCase& c : kConvs)
      for (KernelId id : kConvKernels)
        for (const Types types : kCudaTypes)
          for (bool last : {false, true}) {
            if (!allowed(id, types)) continue;
            const KernelDesc call =
                conv_desc(id, c, last, types.dtype, types.result);
            const auto kernel = must_make(call, device);
            ASSERT_TRUE(kernel) << library.refusal;
            kernels::testing::expect_kernel_close(call, *kernel,
                                                  conv_terms(id, c));
            ASSERT_FALSE(HasFailure()) << library.refusal;
          }
  }

  TestImages images;
  HostDriver driver;
  FakeCudnn library;
};

const cuda::cudnnBackendNumericalNote_t kTensorCore =
    cuda::CUDNN_NUMERICAL_NOTE_TENSOR_CORE;

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_CONV_CONV_H_
