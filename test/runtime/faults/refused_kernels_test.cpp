// Kernels when the n-th allocation, mapping or thread is refused, for every n.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/team/team.h"
#include "kernels/kernel.h"
#include "test/runtime/faults/children.h"

namespace mpc::test {
namespace {

using kernels::KernelDesc;
using kernels::KernelId;

struct NamedKernel {
  const char* name;
  KernelDesc desc;
};

// One kernel of each kind that uses oneDNN, in 16 and 32 bits.
std::vector<NamedKernel> all_kernels() {
  std::vector<NamedKernel> list;
  const std::vector<int64_t> geometry = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (mpc_dtype_t type : {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16}) {
    list.push_back({"matmul",
                    {KernelId::matmul,
                     {{type, {33, 70}}, {type, {70, 40}}, {type, {33, 40}}},
                     {0, 0}}});
    if (type == MPC_DTYPE_F16) continue;  // Computed as f32.
    list.push_back({"conv",
                    {KernelId::conv_bias,
                     {{type, {2, 16, 9, 9}},
                      {type, {32, 16, 3, 3}},
                      {type, {32}},
                      {type, {2, 32, 9, 9}}},
                     geometry}});
    list.push_back({"conv_grad_weight",
                    {KernelId::conv_grad_weight,
                     {{type, {2, 32, 9, 9}},
                      {type, {2, 16, 9, 9}},
                      {MPC_DTYPE_F32, {32, 16, 3, 3}}},
                     geometry}});
  }
  return list;
}

// Memory for the operands of a kernel.
class Operands {
 public:
  Operands(const KernelDesc& desc, size_t scratch_bytes) {
    for (const kernels::TensorDesc& operand : desc.operands) {
      size_t bytes = mpc_dtype_size(operand.dtype);
      for (int64_t extent : operand.shape) bytes *= static_cast<size_t>(extent);
      addresses_.push_back(add(bytes));
    }
    scratch_ = add(scratch_bytes);
  }
  void* const* addresses() const { return addresses_.data(); }
  void* scratch() const { return scratch_; }

 private:
  void* add(size_t bytes) {
    memories_.emplace_back(bytes + kernels::kOperandAlignment);
    auto address = reinterpret_cast<uintptr_t>(memories_.back().data());
    address +=
        kernels::kOperandAlignment - address % kernels::kOperandAlignment;
    return reinterpret_cast<void*>(address);
  }
  std::vector<std::vector<char>> memories_;
  std::vector<void*> addresses_;
  void* scratch_ = nullptr;
};

TEST(Kernels, AreMadeAndRunOrRefused) {
  for (const NamedKernel& named : all_kernels())
    for (Resource resource : {Resource::kMemory, Resource::kMapping}) {
      SCOPED_TRACE(std::string(named.name) + " of " +
                   mpc_dtype_name(named.desc.operands[0].dtype));
      refuse_each(resource, 40, [&](const std::function<void()>& begin) {
        std::string error;
        // A team, as in a session: OpenMP ends the process if it lacks memory.
        auto team = kernels::Team::start(1, &error);
        if (!team || !kernels::dnnl_runs_on_teams()) fail(error);
        const kernels::TeamScope scope(team.get());
        const kernels::Context context = {1, false};
        std::unique_ptr<kernels::Kernel> kernel;
        begin();
        try {
          kernel = kernels::make_cpu_kernel(named.desc, context, &error);
          if (!kernel) fail(error);
          Operands operands(named.desc, kernel->scratch_bytes());
          for (int i = 0; i < 3; ++i)
            (void)kernel->run(operands.addresses(), operands.scratch());
        } catch (const std::bad_alloc&) {
        }
        const bool refused = stop_refusing() > 0;
        if (!kernel)
          kernel = kernels::make_cpu_kernel(named.desc, context, &error);
        if (!kernel) fail("not made again: " + error);
        Operands operands(named.desc, kernel->scratch_bytes());
        if (!kernel->run(operands.addresses(), operands.scratch()))
          fail("does not run with memory");
        end(refused);
      });
    }
}

}  // namespace
}  // namespace mpc::test
