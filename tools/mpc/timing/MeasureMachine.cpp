//===- MeasureMachine.cpp - Measure the rates of this machine -------------===//

#include "tools/mpc/timing/MeasureMachine.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Text.h"

#include "kernels/cpu/ceilings.h"
#include "kernels/cpu/team/team.h"
#include "kernels/flops.h"
#include "kernels/kernel.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

using namespace mpc::tool;
namespace kernels = mpc::kernels;

static constexpr int kRuns = 5;
/// A cache counts if a copy inside it is faster by this factor.
static constexpr double kFaster = 1.2;
/// Limits of the memory for copies.
static constexpr size_t kLeastCopy = size_t{64} << 20,
                        kMostCopy = size_t{256} << 20;

/// The smallest time of several runs of `body`, in nanoseconds.
template <typename Body> static double bestTime(const Body &body) {
  using Clock = std::chrono::steady_clock;
  double best = 1e18;
  for (int run = 0; run < kRuns; ++run) {
    Clock::time_point begin = Clock::now();
    body();
    best = std::min(
        best,
        std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  }
  return best;
}

/// Operations per nanosecond of square products of `dtype`.
static double measureProducts(mpc_dtype_t dtype, int threads) {
  constexpr int64_t kExtent = 1024;
  const kernels::TensorDesc matrix = {dtype, {kExtent, kExtent}};
  const kernels::KernelDesc product = {
      kernels::KernelId::matmul, {matrix, matrix, matrix}, {0, 0}};
  std::string error;
  std::unique_ptr<kernels::Kernel> kernel =
      kernels::make_cpu_kernel(product, {threads, false}, &error);
  if (!kernel)
    throw Failure(Error, std::string("cannot measure products in ") +
                             mpc_dtype_name(dtype) + ": " + error);
  const size_t bytes = kExtent * kExtent * mpc_dtype_size(dtype);
  auto allocate = [](size_t size) {
    size_t whole = (size + kernels::kOperandAlignment - 1) /
                   kernels::kOperandAlignment * kernels::kOperandAlignment;
    void *memory =
        std::aligned_alloc(kernels::kOperandAlignment,
                           std::max(whole, size_t{kernels::kOperandAlignment}));
    if (!memory)
      throw std::bad_alloc();
    std::memset(memory, 0, whole);
    return std::unique_ptr<void, void (*)(void *)>(memory, std::free);
  };
  auto lhs = allocate(bytes), rhs = allocate(bytes), result = allocate(bytes),
       scratch = allocate(kernel->scratch_bytes());
  void *const operands[] = {lhs.get(), rhs.get(), result.get()};
  const double time = bestTime([&] { kernel->run(operands, scratch.get()); });
  return double(kernels::count_flops(product)) / time;
}

/// The size of a cache, 0 if the system does not say.
static size_t cacheSize(int name) {
  return static_cast<size_t>(std::max(0L, ::sysconf(name)));
}

/// Measures copies in memory and in caches that are faster.
static void measureMemory(mpc::Machine &machine, int threads) {
  const size_t near = cacheSize(_SC_LEVEL2_CACHE_SIZE) * size_t(threads),
               far = cacheSize(_SC_LEVEL3_CACHE_SIZE);
  auto rate = [&](size_t bytes) {
    return kernels::measure_copy(bytes, threads) * 1e-9;
  };
  machine.bytes = rate(std::clamp(2 * far, kLeastCopy, kMostCopy));
  if (machine.bytes <= 0)
    throw Failure(Limit, "cannot measure memory: there is too little of it");
  // Two blocks of a quarter leave room for everything else.
  if (far > 2 * near)
    if (double found = rate(std::min(far / 4, kLeastCopy / 4));
        found > kFaster * machine.bytes) {
      machine.farBytes = found;
      machine.farSize = double(far);
    }
  if (near > 0)
    if (double found = rate(near / 4);
        found > kFaster * std::max(machine.bytes, machine.farBytes)) {
      machine.nearBytes = found;
      machine.nearSize = double(near);
    }
}

/// Nanoseconds to start a kernel on all threads and wait for them.
static double measureLaunch(int threads) {
  constexpr int kRegions = 1000;
  return bestTime([&] {
           for (int region = 0; region < kRegions; ++region)
             kernels::parallel(threads, [](int, int) {});
         }) /
         kRegions;
}

mpc::Machine mpc::tool::measureMachine(const std::string &cpu, int threads) {
  std::string error;
  std::unique_ptr<kernels::Team> team = kernels::Team::start(threads, &error);
  if (!team)
    throw Failure(Limit, "cannot measure the machine's rates: " + error);
  kernels::TeamScope scope(team.get());
  Machine machine;
  machine.name = formatCount(uint64_t(threads), "thread") + " of " + cpu;
  machine.f32 = measureProducts(MPC_DTYPE_F32, threads);
  machine.bf16 = measureProducts(MPC_DTYPE_BF16, threads);
  machine.f16 = measureProducts(MPC_DTYPE_F16, threads);
  // Generated kernels rarely multiply and add at once.
  machine.vector = kernels::measure_ceilings(threads).f32_flops * 1e-9 / 2;
  measureMemory(machine, threads);
  machine.launch = measureLaunch(threads);
  return machine;
}
