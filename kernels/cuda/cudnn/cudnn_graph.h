// Owners of cuDNN's backend descriptors.

#ifndef MPC_KERNELS_CUDA_CUDNN_CUDNN_GRAPH_H_
#define MPC_KERNELS_CUDA_CUDNN_CUDNN_GRAPH_H_

#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/conv_problem.h"
#include "kernels/cuda/cudnn/cudnn.h"

namespace mpc::kernels {

// Records the first failure of several calls; later calls are skipped.
class CudnnCalls {
 public:
  explicit CudnnCalls(const cuda::Cudnn& library) : library_(library) {}

  const cuda::Cudnn& library() const { return library_; }
  bool ok() const { return status_ == cuda::CUDNN_STATUS_SUCCESS; }
  cuda::cudnnStatus_t status() const { return status_; }
  const std::string& error() const { return error_; }
  // Records the status of a call; returns true on success.
  bool check(const char* call, cuda::cudnnStatus_t status);

 private:
  const cuda::Cudnn& library_;
  cuda::cudnnStatus_t status_ = cuda::CUDNN_STATUS_SUCCESS;
  std::string error_;
};

class CudnnDescriptor {
 public:
  CudnnDescriptor(CudnnCalls* calls, cuda::cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&&) = delete;
  ~CudnnDescriptor();

  cuda::cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set(CudnnCalls* calls, cuda::cudnnBackendAttributeName_t name,
           cuda::cudnnBackendAttributeType_t type, int64_t count,
           const void* values) const;
  void set(CudnnCalls* calls, cuda::cudnnBackendAttributeName_t name,
           const CudnnDescriptor& value) const;
  void set(CudnnCalls* calls, cuda::cudnnBackendAttributeName_t name,
           int64_t value) const;
  void finalize(CudnnCalls* calls) const;

 private:
  const cuda::Cudnn& library_;
  cuda::cudnnBackendDescriptor_t descriptor_ = nullptr;
};

// A graph, with all descriptors that the library refers to.
class CudnnGraph {
 public:
  // `room` is the maximum number of descriptors, so that references stay valid.
  explicit CudnnGraph(size_t room) { descriptors_.reserve(room); }
  const CudnnDescriptor& keep(CudnnDescriptor descriptor) {
    descriptors_.push_back(std::move(descriptor));
    return descriptors_.back();
  }
  // Creates the graph from these operations. Call it last.
  void finish(CudnnCalls* calls, cuda::cudnnHandle_t handle,
              const std::vector<cuda::cudnnBackendDescriptor_t>& operations);
  const CudnnDescriptor& graph() const { return descriptors_.back(); }

 private:
  std::vector<CudnnDescriptor> descriptors_;
};

// The library's description of a tensor.
struct CudnnTensor {
  int64_t uid;
  cuda::cudnnDataType_t type;
  Dims4 dims, strides;
  enum Kind { in_memory, is_virtual, by_value } kind = in_memory;
};
CudnnDescriptor make_tensor(CudnnCalls* calls, const CudnnTensor& tensor);
cuda::cudnnDataType_t cudnn_type(mpc_dtype_t dtype);

// Uids of the tensors of a convolution's graph.
enum ConvUid : int64_t { kUidX = 1, kUidW, kUidY, kUidBias, kUidSum };

// The graph of a problem: the convolution, followed by the addition of the bias
// if it has one. The library does not support a convolution of 16-bit operands
// with an f32 result, unless an identity operation follows it.
CudnnGraph make_conv_graph(CudnnCalls* calls, cuda::cudnnHandle_t handle,
                           const ConvProblem& problem);

// The engine configurations that the library's heuristic proposes in this mode,
// best first.
std::vector<CudnnDescriptor> engine_configs(CudnnCalls* calls,
                                            const CudnnDescriptor& graph,
                                            cuda::cudnnBackendHeurMode_t mode);

// The engine of a configuration: its number and its numerical notes.
struct EngineFacts {
  int64_t index = -1;
  std::vector<cuda::cudnnBackendNumericalNote_t> notes;
};
EngineFacts engine_facts(CudnnCalls* calls, const CudnnDescriptor& config);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_CUDNN_GRAPH_H_
