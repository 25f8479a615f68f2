#include "kernels/cuda/driver/driver.h"

#include <mutex>

#include "kernels/cuda/driver/library.h"

namespace mpc::cuda {

namespace {

// The driver that load_driver returns.
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

bool refuses_code(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED:
    case CUDA_ERROR_INVALID_SOURCE:
      return true;
    default:
      return false;
  }
}

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

int driver_version(const Driver& driver) {
  int version = 0;
  return driver.cuDriverGetVersion(&version) == CUDA_SUCCESS ? version : 0;
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
