// Pooling on a real device: bit-identical to the reference.

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

TEST(Device, Pool) {
  MPC_NEEDS_IMAGES();
  std::vector<mpc_dtype_t> dtypes = {MPC_DTYPE_F32, MPC_DTYPE_F16,
                                     MPC_DTYPE_BF16};
  if (device().context.compute_capability < 80) dtypes.pop_back();
  for (const ConvCase& c : kPools)
    for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                        KernelId::average_pool, KernelId::average_pool_grad})
      for (mpc_dtype_t dtype : dtypes)
        for (int flags = 0; flags < 4; ++flags) {
          const KernelDesc desc = pool_desc(id, c, flags & 1, flags & 2, dtype);
          SCOPED_TRACE(describe(desc, {1, false}));
          std::string error;
          const auto kernel = must_make(desc, device().context);
          const auto reference = make_reference_kernel(desc, &error);
          ASSERT_TRUE(kernel && reference) << error;
          std::vector<std::vector<double>> inputs = grad_inputs(desc);
          if (id == KernelId::max_pool) inputs[0] = difficult(inputs[0].size());
          const std::vector<Buffer> found = make_operands(desc, inputs);
          const std::vector<Buffer> expected = make_operands(desc, inputs);
          run(*kernel, found);
          run(*reference, expected);
          for (size_t o = inputs.size(); o < found.size(); ++o) {
            const auto a = values_of(desc.operands[o], found[o]);
            const auto b = values_of(desc.operands[o], expected[o]);
            for (size_t i = 0; i < a.size(); ++i)
              ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
                  << "element " << i << ": expected " << b[i] << ", found "
                  << a[i];
          }
        }
}

}  // namespace
}  // namespace mpc::test
