#include "kernels/cuda/nccl/nccl.h"

#include <mutex>

#include "kernels/cuda/driver/library.h"

namespace mpc::cuda {
namespace {

bool load_table(Nccl* table, std::string* missing) {
  const Symbol symbols[] = {
#define MPC_CUDA_FUNCTION(result, name, parameters) {#name, &table->name},
      MPC_NCCL_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
  };
  return load_library("libnccl.so.2", symbols,
                      sizeof(symbols) / sizeof(symbols[0]), missing);
}

// What load_nccl returns.
struct NcclOfMachine {
  std::mutex mutex;
  Nccl table = {};
  bool is_loaded = false;
  const Nccl* replacement = nullptr;
};

NcclOfMachine& nccl_of_machine() {
  static NcclOfMachine instance;
  return instance;
}

}  // namespace

const Nccl* load_nccl(std::string* missing) {
  NcclOfMachine& state = nccl_of_machine();
  const std::lock_guard<std::mutex> lock(state.mutex);
  if (state.replacement) return state.replacement;
  if (!state.is_loaded) state.is_loaded = load_table(&state.table, missing);
  return state.is_loaded ? &state.table : nullptr;
}

void replace_nccl(const Nccl* library) {
  NcclOfMachine& state = nccl_of_machine();
  const std::lock_guard<std::mutex> lock(state.mutex);
  state.replacement = library;
}

}  // namespace mpc::cuda
