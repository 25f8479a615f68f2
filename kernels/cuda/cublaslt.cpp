#include "kernels/cuda/cublaslt.h"

#include <mutex>

#include "kernels/cuda/library.h"

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

// What load_cublaslt gives out.
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

const CublasLt* load_cublaslt(std::string* missing) {
  Loaded& state = loaded();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.replacement) return state.replacement;
  if (state.has_machine) return &state.machine;
  // What was looked for first is what should be there.
  std::string ignored;
  state.has_machine = load("libcublasLt.so.13", &state.machine, missing) ||
                      load("libcublasLt.so.12", &state.machine, &ignored);
  return state.has_machine ? &state.machine : nullptr;
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
