// The threads of PyTorch, lent to sessions.

#ifndef MPC_PYTHON_RUNTIME_SRC_TORCH_THREADS_H_
#define MPC_PYTHON_RUNTIME_SRC_TORCH_THREADS_H_

#include "mpc/session.h"

namespace mpc::python {

// The OpenMP threads of the PyTorch in this process; null if there is none, or
// if it has been built without OpenMP.
const mpc_thread_pool_t *torch_threads();

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_TORCH_THREADS_H_
