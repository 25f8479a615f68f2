#include "kernels/cuda/cudnn/cudnn.h"

#include <mutex>

#include "kernels/cuda/driver/library.h"

namespace mpc::cuda {

namespace {

// The library that load_cudnn returns.
struct Loaded {
  std::mutex mutex;
  Cudnn machine = {};
  bool has_machine = false;
  const Cudnn* replacement = nullptr;
};

Loaded& loaded() {
  static Loaded instance;
  return instance;
}

}  // namespace

const Cudnn* load_cudnn(std::string* missing) {
  Loaded& state = loaded();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.replacement) return state.replacement;
  if (!state.has_machine) {
    const Symbol symbols[] = {
#define MPC_CUDA_FUNCTION(result, name, parameters) \
  {#name, &state.machine.name},
        MPC_CUDNN_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
    };
    state.has_machine =
        load_library("libcudnn.so.9", symbols,
                     sizeof(symbols) / sizeof(symbols[0]), missing);
  }
  return state.has_machine ? &state.machine : nullptr;
}

void replace_cudnn(const Cudnn* library) {
  Loaded& state = loaded();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.replacement = library;
}

std::string describe_error(const Cudnn& library, const char* call,
                           cudnnStatus_t status) {
  const char* name = library.cudnnGetErrorString(status);
  std::string text =
      std::string(call) + ": " +
      (name ? name : "status " + std::to_string(static_cast<int>(status)));
  char detail[512] = "";
  library.cudnnGetLastErrorString(detail, sizeof detail);
  detail[sizeof detail - 1] = 0;
  if (detail[0]) text += std::string(" (") + detail + ")";
  return text;
}

}  // namespace mpc::cuda
