#include "kernels/cuda/cudnn.h"

#include <mutex>

#include "kernels/cuda/library.h"

namespace mpc::cuda {

const Cudnn* load_cudnn(std::string* missing) {
  static std::mutex mutex;
  static Cudnn table;
  static bool loaded = false;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!loaded) {
    const Symbol symbols[] = {
#define MPC_CUDA_FUNCTION(result, name, parameters) {#name, &table.name},
        MPC_CUDNN_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
    };
    loaded = load_library("libcudnn.so.9", symbols,
                          sizeof(symbols) / sizeof(symbols[0]), missing);
  }
  return loaded ? &table : nullptr;
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
