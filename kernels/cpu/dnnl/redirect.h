// Makes the calls that a loaded library makes to another go elsewhere.

#ifndef MPC_KERNELS_CPU_DNNL_REDIRECT_H_
#define MPC_KERNELS_CPU_DNNL_REDIRECT_H_

#include <cstddef>

namespace mpc::kernels {

struct Redirection {
  const char* name;   // Name of the function that is called.
  void* replacement;  // What is called from now on.
  void* before;       // Set: what was called so far.
};

template <typename Function>
Redirection redirection(const char* name, Function* replacement) {
  return {name, reinterpret_cast<void*>(replacement), nullptr};
}

// `inside` is an address in the library. All of the redirections, or none and
// false: where the library does not call one of them, where it looks functions
// up when it first calls them and so would undo this, where it is no shared
// library, or where this is not Linux on x86-64. Nobody else's calls change.
bool redirect_calls(const void* inside, Redirection* redirections,
                    size_t count);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_DNNL_REDIRECT_H_
