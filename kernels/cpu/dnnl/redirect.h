// Redirects calls that a loaded library makes to functions of another library.

#ifndef MPC_KERNELS_CPU_DNNL_REDIRECT_H_
#define MPC_KERNELS_CPU_DNNL_REDIRECT_H_

#include <cstddef>

namespace mpc::kernels {

struct Redirection {
  const char* name;       // Name of the function that is called.
  void* replacement;      // Function to call from now on.
  void* before;           // Output: the function called so far.
  bool optional = false;  // Nothing to do if the library does not call it.
};

template <typename Function>
Redirection redirection(const char* name, Function* replacement) {
  return {name, reinterpret_cast<void*>(replacement), nullptr, false};
}

template <typename Function>
Redirection optional_redirection(const char* name, Function* replacement) {
  return {name, reinterpret_cast<void*>(replacement), nullptr, true};
}

// `inside` is an address in the library. Makes all redirections, or none and
// returns false: if the library does not call one of the functions and that one
// is not optional, if it binds lazily and would overwrite a redirection, if it
// is not a shared library, or if this is not Linux on x86-64. Calls from other
// libraries do not change.
bool redirect_calls(const void* inside, Redirection* redirections,
                    size_t count);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_DNNL_REDIRECT_H_
