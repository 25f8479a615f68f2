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

}  // namespace

const CublasLt* load_cublaslt(std::string* missing) {
  static std::mutex mutex;
  static CublasLt table;
  static bool loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (loaded) return &table;
  // What was looked for first is what should be there.
  std::string ignored;
  loaded = load("libcublasLt.so.13", &table, missing) ||
           load("libcublasLt.so.12", &table, &ignored);
  return loaded ? &table : nullptr;
}

std::string describe_error(const CublasLt& library, const char* call,
                           cublasStatus_t status) {
  const char* name = library.cublasLtGetStatusString(status);
  return std::string(call) + ": " +
         (name ? name : "status " + std::to_string(static_cast<int>(status)));
}

}  // namespace mpc::cuda
