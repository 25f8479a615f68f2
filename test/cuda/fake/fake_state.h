// Internals of the fake driver: the objects behind its handles.

#ifndef MPC_TEST_CUDA_FAKE_STATE_H_
#define MPC_TEST_CUDA_FAKE_STATE_H_

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "test/cuda/fake/fake_driver.h"

namespace mpc::test {

// Signatures of driver functions use these names.
using namespace cuda;

// An operation in a stream or graph; returns its result.
using FakeOperation = std::function<cuda::CUresult()>;

struct FakeEvent {
  // Numbers of records that were queued and that have run.
  uint64_t queued = 0, happened = 0;
  struct FakeStream* stream = nullptr;  // Stream of the last record.
  uint64_t time = 0;                    // Time of the last event.
};

struct FakeGraph {
  std::vector<FakeOperation> nodes;
};

struct FakeStream {
  std::deque<FakeOperation> work;
  std::unique_ptr<FakeGraph> capture;  // While capturing.
  bool capture_broken = false;
};

struct FakeGraphExec {
  std::shared_ptr<const FakeGraph> graph;
};

struct FakeFunction {
  FakeKernel kernel;
  // Bytes of each parameter. Unknown for kernels of simulator images, whose
  // parameters are read when the kernel runs.
  bool has_sizes = false;
  std::vector<size_t> sizes;
};

struct FakeModule {
  void* library = nullptr;  // Handle of a simulator image.
  int file = -1;
  std::map<std::string, std::unique_ptr<FakeFunction>> functions;
};

// The live objects of one kind, by handle.
template <class Object>
class FakeObjects {
 public:
  Object* add() {
    auto object = std::make_unique<Object>();
    Object* handle = object.get();
    objects_[handle] = std::move(object);
    return handle;
  }
  // Null if there is no such object.
  template <class Handle>
  Object* find(Handle handle) const {
    auto found = objects_.find(reinterpret_cast<Object*>(handle));
    return found == objects_.end() ? nullptr : found->second.get();
  }
  template <class Handle>
  bool remove(Handle handle) {
    return objects_.erase(reinterpret_cast<Object*>(handle)) > 0;
  }
  size_t size() const { return objects_.size(); }
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const auto& [handle, object] : objects_) visit(*object);
  }

 private:
  std::map<Object*, std::unique_ptr<Object>> objects_;
};

struct FakeDriver::State {
  using Mutex = std::recursive_mutex;

  // In the order of the table.
  enum Index {
#define MPC_CUDA_FUNCTION(name, parameters) k_##name,
    MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
        kCount
  };

  // The implementations of the table's functions, by name.
#define MPC_CUDA_FUNCTION(name, parameters) cuda::CUresult name parameters;
  MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION

  // Ends a capture without a graph.
  void abandon_capture(cuda::CUstream handle, cuda::CUgraph* graph);

  // Counts a call; returns an error if the call must fail.
  cuda::CUresult begin(Index index);
  // The device of the thread's current context, -1 if there is none.
  int current_device() const;

  // Queues work on a stream, or records it if the stream is capturing.
  cuda::CUresult enqueue(cuda::CUstream handle, FakeOperation work);
  // Runs queued work, up to the last record of `event` if it is not null.
  void run(FakeStream* stream, const FakeEvent* event = nullptr,
           uint64_t record = 0);
  void run_all();
  // Records `what` in `error` and returns `result`.
  cuda::CUresult refuse(cuda::CUresult result, const std::string& what);

  // Whether [address, address + bytes) lies in one allocation.
  bool is_device(cuda::CUdeviceptr address, size_t bytes) const;
  bool is_pinned(const void* address, size_t bytes) const;
  cuda::CUresult copy(void* to, const void* from, size_t bytes,
                      cuda::CUstream stream);

  FakeStream* find_stream(cuda::CUstream handle);
  // Loads a simulator image; returns false if that fails.
  bool load_image(const void* image, FakeModule* module);
  FakeFunction* find_function(FakeModule* module, const std::string& name);

  FakeDriverOptions options;
  Mutex mutex;
  cuda::Driver table;
  uint64_t counts[kCount] = {};
  uint64_t until_failure = 0;
  cuda::CUresult failure = cuda::CUDA_SUCCESS;
  bool sticky = false;
  std::string failed_call;
  cuda::CUresult broken = cuda::CUDA_SUCCESS;  // Every later call fails.
  std::string error;

  bool initialized = false;
  std::string last_image;
  std::vector<int> retained;  // Reference counts of primary contexts.
  FakeStream default_stream;
  std::map<std::string, FakeFunction> kernels;
  struct Block {
    size_t bytes;
    int device;
  };
  std::map<uintptr_t, Block> device_memory;
  std::map<uintptr_t, size_t> pinned_memory;
  uint64_t pageable_copies = 0;
  uint64_t clock = 0;
  FakeObjects<FakeStream> streams;
  FakeObjects<FakeEvent> events;
  FakeObjects<FakeGraph> graphs;
  FakeObjects<FakeGraphExec> graph_execs;
  FakeObjects<FakeModule> modules;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_STATE_H_
