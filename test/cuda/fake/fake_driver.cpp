#include "test/cuda/fake/fake_driver.h"

#include <algorithm>
#include <stdexcept>

#include "test/cuda/fake/fake_state.h"

namespace mpc::test {

using namespace mpc::cuda;
using State = FakeDriver::State;

namespace {

State* current_state = nullptr;

const char* const kNames[] = {
#define MPC_CUDA_FUNCTION(name, parameters) #name,
    MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
};

bool tells_errors(State::Index index) {
  return index == State::k_cuGetErrorName || index == State::k_cuGetErrorString;
}

// Calls that take effect even if they return an error, which is then an earlier
// one.
bool gives_back(State::Index index) {
  switch (index) {
    case State::k_cuMemFree_v2:
    case State::k_cuMemFreeHost:
    case State::k_cuStreamDestroy_v2:
    case State::k_cuEventDestroy_v2:
    case State::k_cuGraphDestroy:
    case State::k_cuGraphExecDestroy:
    case State::k_cuModuleUnload:
    case State::k_cuDevicePrimaryCtxRelease_v2:
      return true;
    default:
      return false;
  }
}

bool needs_context(State::Index index) {
  switch (index) {
    case State::k_cuInit:
    case State::k_cuDriverGetVersion:
    case State::k_cuGetErrorName:
    case State::k_cuGetErrorString:
    case State::k_cuDeviceGetCount:
    case State::k_cuDeviceGet:
    case State::k_cuDeviceGetName:
    case State::k_cuDeviceGetAttribute:
    case State::k_cuDeviceTotalMem_v2:
    case State::k_cuDevicePrimaryCtxRetain:
    case State::k_cuDevicePrimaryCtxRelease_v2:
    case State::k_cuCtxGetCurrent:
    case State::k_cuCtxSetCurrent:
      return false;
    default:
      return true;
  }
}

// Wraps a method of the state as a function of the table.
template <State::Index index, class Method>
struct Wrapper;

template <State::Index index, class... Parameters>
struct Wrapper<index, CUresult (State::*)(Parameters...)> {
  template <CUresult (State::*method)(Parameters...)>
  static CUresult call(Parameters... parameters) {
    if (!current_state) return CUDA_ERROR_NOT_INITIALIZED;
    State& state = *current_state;
    std::lock_guard<State::Mutex> lock(state.mutex);
    CUresult result = state.begin(index);
    if (result != CUDA_SUCCESS && !gives_back(index)) {
      // A capture ends even if the call fails.
      if constexpr (index == State::k_cuStreamEndCapture)
        state.abandon_capture(parameters...);
      return result;
    }
    CUresult done = (state.*method)(parameters...);
    return result != CUDA_SUCCESS ? result : done;
  }
};

}  // namespace

CUresult State::begin(Index index) {
  if (tells_errors(index)) return CUDA_SUCCESS;
  ++counts[index];
  if (until_failure > 0 && --until_failure == 0) {
    failed_call = kNames[index];
    if (sticky) broken = failure;
    return failure;
  }
  if (!initialized && index != k_cuInit && index != k_cuDriverGetVersion)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!needs_context(index)) return CUDA_SUCCESS;
  if (current_device() < 0)
    return refuse(CUDA_ERROR_INVALID_CONTEXT,
                  std::string(kNames[index]) + " without a context");
  return broken;
}

CUresult State::refuse(CUresult result, const std::string& what) {
  if (error.empty()) error = what;
  return result;
}

FakeDriver::FakeDriver(const FakeDriverOptions& options)
    : state_(std::make_unique<State>()) {
  if (current_state) throw std::logic_error("there is a fake driver already");
  current_state = state_.get();
  state_->options = options;
  state_->retained.resize(static_cast<size_t>(options.devices));
  Driver& table = state_->table;
#define MPC_CUDA_FUNCTION(name, parameters) \
  table.name = &Wrapper<State::k_##name,    \
                        decltype(&State::name)>::template call<&State::name>;
  MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
  table.architecture = options.architecture;
  replace_driver(&table);
}

FakeDriver::~FakeDriver() {
  replace_driver(nullptr);
  state_->run_all();
  (void)state_->cuCtxSetCurrent(nullptr);
  current_state = nullptr;
}

CUresult FakeDriver::enqueue(CUstream stream, std::function<void()> work) {
  return state_->enqueue(stream, [work = std::move(work)] {
    work();
    return CUDA_SUCCESS;
  });
}

CUresult FakeDriver::enqueue_waiting(CUstream stream,
                                     std::function<bool()> work) {
  const std::lock_guard<State::Mutex> lock(state_->mutex);
  return state_->enqueue(stream, [work = std::move(work)] {
    return work() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

const Driver& FakeDriver::table() const { return state_->table; }

void FakeDriver::add_kernel(const std::string& name, std::vector<size_t> sizes,
                            FakeKernel kernel) {
  state_->kernels[name] = {std::move(kernel), true, std::move(sizes)};
}

uint64_t FakeDriver::calls(const std::string& name) const {
  uint64_t count = 0;
  for (size_t i = 0; i < State::kCount; ++i)
    if (name.empty() || name == kNames[i]) count += state_->counts[i];
  return count;
}

void FakeDriver::reset_calls() {
  std::fill(std::begin(state_->counts), std::end(state_->counts), 0);
  state_->pageable_copies = 0;
}

std::string FakeDriver::calls_text() const {
  std::string text;
  for (size_t i = 0; i < State::kCount; ++i)
    if (state_->counts[i] > 0)
      text += std::string(text.empty() ? "" : ", ") + kNames[i] + " " +
              std::to_string(state_->counts[i]);
  return text;
}

void FakeDriver::fail_at(uint64_t n, CUresult result, bool sticky) {
  state_->until_failure = n;
  state_->failure = result;
  state_->sticky = sticky;
  state_->failed_call.clear();
  if (n == 0) state_->broken = CUDA_SUCCESS;
}

std::string FakeDriver::failed_call() const { return state_->failed_call; }

std::string FakeDriver::leaks() const {
  std::string text;
  auto add = [&text](size_t count, const char* what) {
    if (count > 0)
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(state_->device_memory.size(), "of device memory");
  add(state_->pinned_memory.size(), "of pinned memory");
  add(state_->streams.size(), "streams");
  add(state_->events.size(), "events");
  add(state_->graphs.size(), "graphs");
  add(state_->graph_execs.size(), "executable graphs");
  add(state_->modules.size(), "modules");
  for (int uses : state_->retained)
    add(static_cast<size_t>(uses), "uses of a context");
  return text;
}

uint64_t FakeDriver::used_memory() const {
  uint64_t bytes = 0;
  for (const auto& [address, block] : state_->device_memory)
    bytes += block.bytes;
  return bytes;
}

uint64_t FakeDriver::pageable_copies() const { return state_->pageable_copies; }

std::string FakeDriver::last_image() const { return state_->last_image; }

std::string FakeDriver::error() const { return state_->error; }

}  // namespace mpc::test
