#include "kernels/cuda/cudnn/cudnn_graph.h"

#include <utility>

namespace mpc::kernels {

using namespace cuda;

namespace {

CudnnDescriptor make_tensor(CudnnCalls* calls, ConvUid uid,
                            const Tensor4& tensor) {
  return make_tensor(
      calls,
      {uid, cudnn_type(tensor.dtype), tensor.dims, tensor.strides,
       uid == kUidSum ? CudnnTensor::is_virtual : CudnnTensor::in_memory});
}

CudnnDescriptor make_convolution(CudnnCalls* calls, const Window& window) {
  CudnnDescriptor descriptor(calls, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnDataType_t type = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  descriptor.set(calls, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                 1, &type);
  descriptor.set(calls, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
                 CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  descriptor.set(calls, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
  const std::pair<cudnnBackendAttributeName_t, const std::array<int64_t, 2>*>
      geometry[] = {
          {CUDNN_ATTR_CONVOLUTION_DILATIONS, &window.dilations},
          {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &window.strides},
          {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &window.pads_begin},
          {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &window.pads_end},
      };
  for (const auto& [name, values] : geometry)
    descriptor.set(calls, name, CUDNN_TYPE_INT64, 2, values->data());
  descriptor.finalize(calls);
  return descriptor;
}

// The names of the same attributes in the three operations.
struct ConvNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};

ConvNames names_of(ConvKind kind) {
  switch (kind) {
    case ConvKind::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case ConvKind::grad_input:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvKind::grad_weight:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

}  // namespace

bool CudnnCalls::check(const char* call, cudnnStatus_t status) {
  if (!ok() || status == CUDNN_STATUS_SUCCESS) return ok();
  status_ = status;
  error_ = describe_error(library_, call, status);
  return false;
}

CudnnDescriptor::CudnnDescriptor(CudnnCalls* calls,
                                 cudnnBackendDescriptorType_t type)
    : library_(calls->library()) {
  if (!calls->ok()) return;
  if (!calls->check("cudnnBackendCreateDescriptor",
                    library_.cudnnBackendCreateDescriptor(type, &descriptor_)))
    descriptor_ = nullptr;
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept
    : library_(other.library_),
      descriptor_(std::exchange(other.descriptor_, nullptr)) {}

CudnnDescriptor::~CudnnDescriptor() {
  if (descriptor_) library_.cudnnBackendDestroyDescriptor(descriptor_);
}

void CudnnDescriptor::set(CudnnCalls* calls, cudnnBackendAttributeName_t name,
                          cudnnBackendAttributeType_t type, int64_t count,
                          const void* values) const {
  if (calls->ok())
    calls->check("cudnnBackendSetAttribute",
                 library_.cudnnBackendSetAttribute(descriptor_, name, type,
                                                   count, values));
}

void CudnnDescriptor::set(CudnnCalls* calls, cudnnBackendAttributeName_t name,
                          const CudnnDescriptor& value) const {
  const cudnnBackendDescriptor_t descriptor = value.get();
  set(calls, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &descriptor);
}

void CudnnDescriptor::set(CudnnCalls* calls, cudnnBackendAttributeName_t name,
                          int64_t value) const {
  set(calls, name, CUDNN_TYPE_INT64, 1, &value);
}

void CudnnDescriptor::finalize(CudnnCalls* calls) const {
  if (calls->ok())
    calls->check("cudnnBackendFinalize",
                 library_.cudnnBackendFinalize(descriptor_));
}

cudnnDataType_t cudnn_type(mpc_dtype_t dtype) {
  switch (dtype) {
    case MPC_DTYPE_F16:
      return CUDNN_DATA_HALF;
    case MPC_DTYPE_BF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

CudnnDescriptor make_tensor(CudnnCalls* calls, const CudnnTensor& tensor) {
  CudnnDescriptor descriptor(calls, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const bool yes = true;
  descriptor.set(calls, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                 &tensor.type);
  descriptor.set(calls, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4,
                 tensor.dims.data());
  descriptor.set(calls, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4,
                 tensor.strides.data());
  descriptor.set(calls, CUDNN_ATTR_TENSOR_UNIQUE_ID, tensor.uid);
  // Operands are aligned to 64 bytes; the widest access is 16 bytes.
  descriptor.set(calls, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 16);
  if (tensor.kind == CudnnTensor::is_virtual)
    descriptor.set(calls, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
                   &yes);
  if (tensor.kind == CudnnTensor::by_value)
    descriptor.set(calls, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1,
                   &yes);
  descriptor.finalize(calls);
  return descriptor;
}

void CudnnGraph::finish(
    CudnnCalls* calls, cudnnHandle_t handle,
    const std::vector<cudnnBackendDescriptor_t>& operations) {
  const CudnnDescriptor& graph =
      keep(CudnnDescriptor(calls, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR));
  graph.set(calls, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
            static_cast<int64_t>(operations.size()), operations.data());
  graph.set(calls, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1,
            &handle);
  graph.finalize(calls);
}

CudnnGraph make_conv_graph(CudnnCalls* calls, cudnnHandle_t handle,
                           const ConvProblem& problem) {
  CudnnGraph made(10);
  const auto keep = [&](CudnnDescriptor descriptor) -> const CudnnDescriptor& {
    return made.keep(std::move(descriptor));
  };
  const ConvNames names = names_of(problem.kind);
  const CudnnDescriptor& x = keep(make_tensor(calls, kUidX, problem.x));
  const CudnnDescriptor& w = keep(make_tensor(calls, kUidW, problem.w));
  const CudnnDescriptor& y = keep(make_tensor(calls, kUidY, problem.y));
  const CudnnDescriptor& result = problem.kind == ConvKind::forward      ? y
                                  : problem.kind == ConvKind::grad_input ? x
                                                                         : w;
  // Sums stay in f32 until the bias has been added.
  const bool has_sum = problem.has_bias || problem.is_mixed();
  Tensor4 sum_shape = problem.result();
  sum_shape.dtype = MPC_DTYPE_F32;
  const CudnnDescriptor& sum =
      has_sum ? keep(make_tensor(calls, kUidSum, sum_shape)) : result;
  const auto of_convolution =
      [&](const CudnnDescriptor& tensor) -> const CudnnDescriptor& {
    return &tensor == &result ? sum : tensor;
  };
  const CudnnDescriptor& convolution =
      keep(make_convolution(calls, problem.window));

  std::vector<cudnnBackendDescriptor_t> operations;
  const float one = 1, zero = 0;
  const CudnnDescriptor& operation =
      keep(CudnnDescriptor(calls, names.operation));
  operation.set(calls, names.convolution, convolution);
  operation.set(calls, names.x, of_convolution(x));
  operation.set(calls, names.w, of_convolution(w));
  operation.set(calls, names.y, of_convolution(y));
  operation.set(calls, names.alpha, CUDNN_TYPE_FLOAT, 1, &one);
  operation.set(calls, names.beta, CUDNN_TYPE_FLOAT, 1, &zero);
  operation.finalize(calls);
  operations.push_back(operation.get());

  if (has_sum) {
    const CudnnDescriptor& function =
        keep(CudnnDescriptor(calls, CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    const cudnnPointwiseMode_t mode =
        problem.has_bias ? CUDNN_POINTWISE_ADD : CUDNN_POINTWISE_IDENTITY;
    const cudnnDataType_t type = CUDNN_DATA_FLOAT;
    function.set(calls, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
                 &mode);
    function.set(calls, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
                 &type);
    function.finalize(calls);
    const CudnnDescriptor& pointwise = keep(
        CudnnDescriptor(calls, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR));
    pointwise.set(calls, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                  function);
    pointwise.set(calls, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, sum);
    if (problem.has_bias)
      pointwise.set(calls, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                    keep(make_tensor(calls, kUidBias, problem.bias)));
    pointwise.set(calls, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, result);
    pointwise.finalize(calls);
    operations.push_back(pointwise.get());
  }

  made.finish(calls, handle, operations);
  return made;
}

std::vector<CudnnDescriptor> engine_configs(CudnnCalls* calls,
                                            const CudnnDescriptor& graph,
                                            cudnnBackendHeurMode_t mode) {
  std::vector<CudnnDescriptor> configs;
  const CudnnDescriptor heuristic(calls, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(calls, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(calls, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1,
                &mode);
  heuristic.finalize(calls);
  if (!calls->ok()) return configs;
  int64_t count = 0;
  const Cudnn& library = calls->library();
  if (!calls->check("cudnnBackendGetAttribute",
                    library.cudnnBackendGetAttribute(
                        heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr)))
    return configs;
  std::vector<cudnnBackendDescriptor_t> places;
  for (int64_t i = 0; i < count && calls->ok(); ++i) {
    configs.emplace_back(calls, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    places.push_back(configs.back().get());
  }
  if (!calls->ok() || count == 0) return configs;
  calls->check("cudnnBackendGetAttribute",
               library.cudnnBackendGetAttribute(heuristic.get(),
                                                CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                                CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                count, &count, places.data()));
  while (calls->ok() && static_cast<size_t>(count) < configs.size())
    configs.pop_back();
  return configs;
}

EngineFacts engine_facts(CudnnCalls* calls, const CudnnDescriptor& config) {
  EngineFacts facts;
  const CudnnDescriptor engine(calls, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  if (!calls->ok()) return facts;
  cudnnBackendDescriptor_t place = engine.get();
  int64_t count = 0;
  const Cudnn& library = calls->library();
  const auto get =
      [&](cudnnBackendDescriptor_t from, cudnnBackendAttributeName_t name,
          cudnnBackendAttributeType_t type, int64_t room, void* values) {
        return calls->ok() &&
               calls->check("cudnnBackendGetAttribute",
                            library.cudnnBackendGetAttribute(
                                from, name, type, room, &count, values));
      };
  if (!get(config.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
           CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &place) ||
      !get(engine.get(), CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
           &facts.index))
    return facts;
  // There are ten notes in version 9.28.
  facts.notes.resize(64);
  if (!get(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
           CUDNN_TYPE_NUMERICAL_NOTE, static_cast<int64_t>(facts.notes.size()),
           facts.notes.data()))
    count = 0;
  facts.notes.resize(static_cast<size_t>(count));
  return facts;
}

}  // namespace mpc::kernels
