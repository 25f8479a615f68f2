// A fake CUDA driver in host memory, for tests: streams, events, graphs and
// modules behave like CUDA's, and calls are counted. Kernels run in
// test/device_sim.
//
// Work runs as late as possible: when somebody waits for it or queries it. This
// reveals buffers that are reused and results that are read too early.

#ifndef MPC_TEST_CUDA_FAKE_DRIVER_H_
#define MPC_TEST_CUDA_FAKE_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/driver/driver.h"

namespace mpc::test {

struct FakeDriverOptions {
  int devices = 1;
  int compute_capability = 90;
  std::string model = "Fake GPU";
  // The accepted code: null for code of the compute capability, "sim" for
  // kernels that the compiler made for the simulator.
  const char* architecture = nullptr;
  uint64_t memory = uint64_t{1} << 32;  // Bytes of each device.
  bool can_capture = true;
  // Code that begins with this text is too new for the driver; null for none.
  const char* refused = nullptr;
  int version = 13000;  // Version of CUDA.
  bool delayed = true;  // false: work runs when it is queued.
};

// A call of a kernel for every thread; `parameters` are cuLaunchKernel's.
using FakeKernel = std::function<void(void* const* parameters)>;

// While it exists, load_driver() returns this driver. Only one may exist at a
// time.
class FakeDriver {
 public:
  explicit FakeDriver(const FakeDriverOptions& options = {});
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  const cuda::Driver& table() const;

  // Queues work on a stream (or records it, while it is captured), as a library
  // does. Device memory is memory of the host.
  cuda::CUresult enqueue(cuda::CUstream stream, std::function<void()> work);
  // The same with work that may wait for others: while it returns false, it is
  // not done, and is tried again when somebody asks for its stream.
  cuda::CUresult enqueue_waiting(cuda::CUstream stream,
                                 std::function<bool()> work);

  // Adds a kernel to modules that are not simulator images. `sizes` has the
  // bytes of each parameter.
  void add_kernel(const std::string& name, std::vector<size_t> sizes,
                  FakeKernel kernel);
  template <class... Parameters>
  void add_kernel(const std::string& name, void (*function)(Parameters...)) {
    add_kernel(name, {sizeof(std::decay_t<Parameters>)...},
               [function](void* const* parameters) {
                 call(function, parameters,
                      std::index_sequence_for<Parameters...>());
               });
  }

  // The number of calls since the last reset of the function with this name, or
  // of all functions for "". Queries for the text of an error do not count.
  uint64_t calls(const std::string& name = "") const;
  void reset_calls();
  // Names and counts of these calls, for messages.
  std::string calls_text() const;

  // Makes the n-th call from now on (1 is the next) fail with `result`, and, if
  // `sticky`, all later ones except those that release something. 0: none.
  void fail_at(uint64_t n, cuda::CUresult result = cuda::CUDA_ERROR_UNKNOWN,
               bool sticky = false);
  // The name of the call that failed, "" if none has yet.
  std::string failed_call() const;

  // Allocations, streams, events, graphs, modules and contexts that were not
  // released, as text; "" if there are none.
  std::string leaks() const;
  uint64_t used_memory() const;

  // The number of copies between the device and host memory that is not pinned,
  // which may block in CUDA.
  uint64_t pageable_copies() const;

  // The text of the last module, up to its first NUL; "" for a simulator image.
  std::string last_image() const;

  // The error of a kernel or copy that failed; "" if none did.
  std::string error() const;

  struct State;

 private:
  template <class... Parameters, size_t... indices>
  static void call(void (*function)(Parameters...), void* const* parameters,
                   std::index_sequence<indices...>) {
    function(*static_cast<std::decay_t<Parameters>*>(parameters[indices])...);
  }

  std::unique_ptr<State> state_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_DRIVER_H_
