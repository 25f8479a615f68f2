#include "runtime/src/device/cuda/graph.h"

namespace mpc::runtime {

using namespace mpc::cuda;

mpc_status_t capture_graph(const Gpu& gpu, const CudaCalls& calls,
                           uint32_t entry, CUstream stream,
                           CudaGraphExec* out_graph) {
  // Relaxed, because libraries may load code at the first call of a function.
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu, MPC_DEVICE_LOST, cuStreamBeginCapture_v2,
                               stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  mpc_status_t status = calls.enqueue_all(entry, stream);
  // The capture must be ended even if it failed.
  CUgraph raw = nullptr;
  CUresult ended = gpu.driver().cuStreamEndCapture(stream, &raw);
  CudaGraph graph(gpu, raw);
  if (status) return status;
  MPC_RETURN_IF_ERROR(gpu.check(ended, "cuStreamEndCapture", MPC_DEVICE_LOST));
  CUgraphExec made = nullptr;
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu, MPC_DEVICE_LOST,
                               cuGraphInstantiateWithFlags, &made, graph.get(),
                               0));
  *out_graph = CudaGraphExec(gpu, made);
  return nullptr;
}

}  // namespace mpc::runtime
