// cuDNN's backend descriptors with owners.

#ifndef MPC_KERNELS_CUDA_CUDNN_CUDNN_GRAPH_H_
#define MPC_KERNELS_CUDA_CUDNN_CUDNN_GRAPH_H_

#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/conv_problem.h"
#include "kernels/cuda/cudnn/cudnn.h"

namespace mpc::kernels {

// The first failure of several calls; later calls are not made.
class CudnnCalls {
 public:
  explicit CudnnCalls(const cuda::Cudnn& library) : library_(library) {}

  const cuda::Cudnn& library() const { return library_; }
  bool ok() const { return status_ == cuda::CUDNN_STATUS_SUCCESS; }
  cuda::cudnnStatus_t status() const { return status_; }
  const std::string& error() const { return error_; }
  // Notes what a call answered.
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

// Descriptors, the last one a graph; keeps what the library refers to.
class CudnnGraph {
 public:
  // References to elements stay good.
  explicit CudnnGraph(size_t room) { descriptors_.reserve(room); }
  const CudnnDescriptor& keep(CudnnDescriptor descriptor) {
    descriptors_.push_back(std::move(descriptor));
    return descriptors_.back();
  }
  // Makes the graph of these operations, the last thing to do.
  void finish(CudnnCalls* calls, cuda::cudnnHandle_t handle,
              const std::vector<cuda::cudnnBackendDescriptor_t>& operations);
  const CudnnDescriptor& graph() const { return descriptors_.back(); }

 private:
  std::vector<CudnnDescriptor> descriptors_;
};

// What the library is told of a tensor.
struct CudnnTensor {
  int64_t uid;
  cuda::cudnnDataType_t type;
  Dims4 dims, strides;
  enum Kind { in_memory, is_virtual, by_value } kind = in_memory;
};
CudnnDescriptor make_tensor(CudnnCalls* calls, const CudnnTensor& tensor);
cuda::cudnnDataType_t cudnn_type(mpc_dtype_t dtype);

// Names of the tensors of a convolution's graph.
enum ConvUid : int64_t { kUidX = 1, kUidW, kUidY, kUidBias, kUidSum };

// The graph of a problem: the convolution, and behind it the sum with the bias
// if it has one. A result in f32 of 16-bit operands is no convolution to the
// library, but one whose sums go through the identity is.
CudnnGraph make_conv_graph(CudnnCalls* calls, cuda::cudnnHandle_t handle,
                           const ConvProblem& problem);

// The library's proposals in this mode, the best guess first.
std::vector<CudnnDescriptor> engine_configs(CudnnCalls* calls,
                                            const CudnnDescriptor& graph,
                                            cuda::cudnnBackendHeurMode_t mode);

// The engine of a proposal: its number and what it does to numbers.
struct EngineFacts {
  int64_t index = -1;
  std::vector<cuda::cudnnBackendNumericalNote_t> notes;
};
EngineFacts engine_facts(CudnnCalls* calls, const CudnnDescriptor& config);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_CUDNN_GRAPH_H_
