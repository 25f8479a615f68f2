// Runs device code on the host: blocks run one after another, and the threads
// of a block are fibers that run until a barrier, a warp operation or their
// end. Undefined behaviour on the device is an error that names block and
// thread. All state belongs to the calling thread; launches on several host
// threads are independent.

#ifndef MPC_TEST_DEVICE_SIM_DEVICE_SIM_H_
#define MPC_TEST_DEVICE_SIM_DEVICE_SIM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "test/device_sim/abi.h"

namespace mpc::device_sim {

struct Dim3 {
  uint32_t x = 1, y = 1, z = 1;

  uint64_t count() const { return uint64_t{x} * y * z; }
};

// Limits of a device; the defaults are those of sm_90.
struct Limits {
  uint32_t threads = 1024;
  Dim3 block{1024, 1024, 64};
  Dim3 grid{0x7fffffff, 65535, 65535};
  // Bytes per block: for arrays of fixed size, and including dynamic memory.
  size_t static_shared = 48 << 10;
  size_t shared = 227 << 10;

  static Limits sm_80() {
    Limits limits;
    limits.shared = 163 << 10;
    return limits;
  }
};

// The order in which blocks run, and threads that can run, including the lanes
// of a warp.
enum class Order {
  kAscending,
  kDescending,
  // Permuted again in each block and after each barrier and warp operation.
  kShuffled,
};
const char* name_of(Order order);

struct Options {
  Order order = Order::kAscending;
  // Seed of the permutations of kShuffled.
  uint64_t seed = 1;
  // Since sm_70 a thread may exit while others wait at a barrier, but that is
  // rarely intended: true makes it an error.
  bool strict_barriers = false;
  Limits limits;
};

// The options for launches of this host thread; tests set them with
// ScopedOptions.
const Options& options();

class ScopedOptions {
 public:
  explicit ScopedOptions(const Options& options);
  ~ScopedOptions();
  ScopedOptions(const ScopedOptions&) = delete;
  ScopedOptions& operator=(const ScopedOptions&) = delete;

 private:
  Options before_;
};

struct Launch {
  Dim3 grid{};
  Dim3 block{};
  // Dynamic shared memory.
  size_t shared_bytes = 0;
};

// Calls thread(context) for every thread of the grid. Returns an empty string
// or an error, at which the launch has stopped; the stacks of unfinished
// threads are then dropped without running destructors.
[[nodiscard]] std::string run_threads(const Launch& launch,
                                      void (*thread)(void*), void* context);

// The same for any callable: run(launch, [&] { kernel(a, b, n); }).
template <class Thread>
[[nodiscard]] std::string run(const Launch& launch, Thread&& thread) {
  using Callable = std::remove_reference_t<Thread>;
  return run_threads(
      launch, [](void* context) { (*static_cast<Callable*>(context))(); },
      const_cast<void*>(static_cast<const void*>(&thread)));
}

struct Buffer {
  std::string name;
  void* data;
  size_t bytes;

  template <class T>
  Buffer(std::string name, std::vector<T>& values)
      : Buffer(std::move(name), values.data(), values.size() * sizeof(T)) {}
  Buffer(std::string name, void* data, size_t bytes)
      : name(std::move(name)), data(data), bytes(bytes) {}
};

// Calls `launches` (one or several launches, returning their error) with each
// order, every time with the current values of the buffers. Returns the first
// error with its order, or the first byte that depends on the order, or an
// empty string. Afterwards the buffers have the results of the ascending order.
[[nodiscard]] std::string run_in_all_orders(
    const std::vector<Buffer>& buffers,
    const std::function<std::string()>& launches);

}  // namespace mpc::device_sim

#endif  // MPC_TEST_DEVICE_SIM_DEVICE_SIM_H_
