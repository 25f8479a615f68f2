// Libraries that are loaded at run time, so that their absence is reported as
// an error message.

#ifndef MPC_KERNELS_CUDA_DRIVER_LIBRARY_H_
#define MPC_KERNELS_CUDA_DRIVER_LIBRARY_H_

#include <cstddef>
#include <string>

namespace mpc::cuda {

// A function of a library: its name, and the place to store its address.
struct Symbol {
  const char* name;
  void* place;  // Address of a pointer to a function.
};

// Opens the shared library `file` and resolves every symbol. On failure returns
// false and sets `*error` to the file and the loader's message, or to the
// missing function. An opened library stays loaded until the process ends,
// because NVIDIA's libraries start threads.
bool load_library(const char* file, const Symbol* symbols, size_t num_symbols,
                  std::string* error);

}  // namespace mpc::cuda

#endif  // MPC_KERNELS_CUDA_DRIVER_LIBRARY_H_
