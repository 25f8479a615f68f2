// Runs device code on the host: blocks one after another, the threads of a
// block as fibers that run until a barrier, a warp operation or their end. What
// the device would leave undefined is an error with block and thread.
// Everything belongs to the calling thread; launches on several host threads
// are apart.

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

// What a device allows; these are the numbers of sm_90.
struct Limits {
  uint32_t threads = 1024;
  Dim3 block{1024, 1024, 64};
  Dim3 grid{0x7fffffff, 65535, 65535};
  // Bytes of a block: arrays of fixed size, and those with dynamic memory.
  size_t static_shared = 48 << 10;
  size_t shared = 227 << 10;

  static Limits sm_80() {
    Limits limits;
    limits.shared = 163 << 10;
    return limits;
  }
};

// In which order threads that may run do run, the lanes of a warp among them,
// and blocks.
enum class Order {
  kAscending,
  kDescending,
  // Permuted anew in each block and after each barrier and warp operation.
  kShuffled,
};
const char* name_of(Order order);

struct Options {
  Order order = Order::kAscending;
  // Seed of the permutations of kShuffled.
  uint64_t seed = 1;
  // A thread that exits while others go on to a barrier is legal from sm_70 on,
  // but seldom meant: true makes it an error.
  bool strict_barriers = false;
  Limits limits;
};

// What launches of this host thread use; a test sets it through ScopedOptions.
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
// or what was wrong, at which point the launch has stopped; stacks of threads
// that had not ended are dropped without running destructors.
[[nodiscard]] std::string run_threads(const Launch& launch,
                                      void (*thread)(void*), void* context);

// The same for anything callable: run(launch, [&] { kernel(a, b, n); }).
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

// Calls `launches` (one launch or several, returning their error) under each
// order, every time from the values that the buffers have now. Returns the
// error of one, with the order, or the first byte that depends on the order, or
// an empty string. The buffers end with what the ascending order made of them.
[[nodiscard]] std::string run_in_all_orders(
    const std::vector<Buffer>& buffers,
    const std::function<std::string()>& launches);

}  // namespace mpc::device_sim

#endif  // MPC_TEST_DEVICE_SIM_DEVICE_SIM_H_
