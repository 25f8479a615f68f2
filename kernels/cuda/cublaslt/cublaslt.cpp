#include "kernels/cuda/cublaslt/cublaslt.h"

#include <mutex>

#include "kernels/cuda/driver/library.h"

namespace mpc::cuda {
namespace {

bool load(const char* file, CublasLt* table, std::string* missing) {
  const Symbol symbols[] = {
#define MPC_CUDA_FUNCTION(result, name, parameters) {#name, &table->name},
      MPC_CUBLASLT_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
  };
  return load_library(file, symbols, sizeof(symbols) / sizeof(symbols[0]),
                      missing);
}

// The library that load_cublaslt returns.
struct Loaded {
  std::mutex mutex;
  CublasLt machine = {};
  bool has_machine = false;
  const CublasLt* replacement = nullptr;
};

Loaded& loaded() {
  static Loaded instance;
  return instance;
}

}  // namespace

std::vector<const char*> cublaslt_files(int driver_version) {
  if (driver_version != 0 && driver_version < 13000)
    return {"libcublasLt.so.12", "libcublasLt.so.13"};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

const CublasLt* load_cublaslt(std::string* missing) {
  std::string no_driver;
  const Driver* driver = load_driver(&no_driver);
  Loaded& state = loaded();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.replacement) return state.replacement;
  if (state.has_machine) return &state.machine;
  std::string first, failure;
  for (const char* file :
       cublaslt_files(driver ? driver_version(*driver) : 0)) {
    state.has_machine = load(file, &state.machine, &failure);
    if (state.has_machine) return &state.machine;
    // Report the file that was looked for first: it is the one that should be
    // there.
    if (first.empty()) first = failure;
  }
  *missing = first;
  return nullptr;
}

void replace_cublaslt(const CublasLt* library) {
  Loaded& state = loaded();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.replacement = library;
}

std::string describe_error(const CublasLt& library, const char* call,
                           cublasStatus_t status) {
  const char* name = library.cublasLtGetStatusName(status);
  return std::string(call) + ": " +
         (name ? name : "status " + std::to_string(static_cast<int>(status)));
}

}  // namespace mpc::cuda
