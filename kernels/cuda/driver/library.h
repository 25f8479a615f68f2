// Libraries that are looked for when the program runs: their absence is a
// message.

#ifndef MPC_KERNELS_CUDA_DRIVER_LIBRARY_H_
#define MPC_KERNELS_CUDA_DRIVER_LIBRARY_H_

#include <cstddef>
#include <string>

namespace mpc::cuda {

// One function of a library: its name, and where its address goes.
struct Symbol {
  const char* name;
  void* place;  // Address of a pointer to a function.
};

// Opens the shared library `file` and fills in every symbol. On failure returns
// false and says in `*error` which file was looked for and what the loader
// said, or which function it lacks. An opened library stays loaded to the end
// of the process: NVIDIA's start threads.
bool load_library(const char* file, const Symbol* symbols, size_t num_symbols,
                  std::string* error);

}  // namespace mpc::cuda

#endif  // MPC_KERNELS_CUDA_DRIVER_LIBRARY_H_
