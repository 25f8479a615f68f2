// The calls of an entry point as one CUDA graph.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_GRAPH_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_GRAPH_H_

#include "runtime/src/device/cuda/calls.h"

namespace mpc::runtime {

// Captures the calls on `stream`, which must take no other work meanwhile, and
// instantiates a graph that can be launched.
mpc_status_t capture_graph(const Gpu& gpu, const CudaCalls& calls,
                           uint32_t entry, cuda::CUstream stream,
                           CudaGraphExec* out_graph);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_GRAPH_H_
