#include "kernels/cuda/driver.h"

#include <mutex>

#include "kernels/cuda/library.h"

namespace mpc::cuda {

namespace {

// What load_driver gives out.
struct Loaded {
  std::mutex mutex;
  Driver machine = {};
  bool has_machine = false;
  const Driver* replacement = nullptr;
  std::string missing;
};

Loaded& loaded() {
  static Loaded instance;
  return instance;
}

}  // namespace

bool load_driver_from(const char* file, Driver* out_driver,
                      std::string* error) {
  Driver driver = {};
  const Symbol symbols[] = {
#define MPC_CUDA_FUNCTION(name, parameters) {#name, &driver.name},
      MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
  };
  if (!load_library(file, symbols, sizeof(symbols) / sizeof(symbols[0]), error))
    return false;
  *out_driver = driver;
  return true;
}

const Driver* load_driver(std::string* error) {
  Loaded& state = loaded();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (!state.missing.empty()) {
    *error = state.missing;
    return nullptr;
  }
  if (state.replacement) return state.replacement;
  if (!state.has_machine) {
    state.has_machine = load_driver_from("libcuda.so.1", &state.machine, error);
    if (!state.has_machine) return nullptr;
  }
  return &state.machine;
}

void replace_driver(const Driver* driver, const char* driver_missing) {
  Loaded& state = loaded();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.replacement = driver;
  state.missing = driver_missing ? driver_missing : "";
}

std::string describe_error(const Driver& driver, const char* call,
                           CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  std::string message = std::string(call) + ": ";
  if (driver.cuGetErrorName(result, &name) == CUDA_SUCCESS && name)
    message += name;
  else
    message += "CUDA error " + std::to_string(static_cast<int>(result));
  if (driver.cuGetErrorString(result, &text) == CUDA_SUCCESS && text)
    message += std::string(" (") + text + ")";
  return message;
}

}  // namespace mpc::cuda
