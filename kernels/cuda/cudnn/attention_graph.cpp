#include "kernels/cuda/cudnn/attention_graph.h"

#include "kernels/float_types.h"

namespace mpc::kernels {
namespace {

using namespace cuda;

// A tensor of the graph under construction.
struct Node {
  const CudnnDescriptor* descriptor;
  Dims4 dims, strides;
};

// Adds operations to a graph. Tensors between them are virtual and, unless
// another type is given, f32.
class Builder {
 public:
  Builder(CudnnCalls* calls, cudnnDataType_t type)
      : calls_(calls), type_(type), graph_(kRoom) {}

  // A tensor in memory, dense unless `strides` is given.
  Node in_memory(int64_t uid, cudnnDataType_t type, const Dims4& dims) {
    return in_memory(uid, type, dims, dense_strides(dims, false));
  }
  Node in_memory(int64_t uid, cudnnDataType_t type, const Dims4& dims,
                 const Dims4& strides) {
    return add({uid, type, dims, strides, CudnnTensor::in_memory});
  }
  Node by_value(int64_t uid) {
    return add({uid,
                CUDNN_DATA_FLOAT,
                {1, 1, 1, 1},
                {1, 1, 1, 1},
                CudnnTensor::by_value});
  }
  Node between(const Dims4& dims, cudnnDataType_t type = CUDNN_DATA_FLOAT) {
    return between(dims, dense_strides(dims, false), type);
  }
  // A node of the operands' type.
  Node narrow(const Dims4& dims) { return between(dims, type_); }

  void multiply(const Node& a, const Node& b, const Node& c) {
    CudnnDescriptor product(calls_, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    product.set(calls_, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
                &f32);
    finish(std::move(product), CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
           CUDNN_ATTR_OPERATION_MATMUL_DESC,
           {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, &a},
            {CUDNN_ATTR_OPERATION_MATMUL_BDESC, &b},
            {CUDNN_ATTR_OPERATION_MATMUL_CDESC, &c}});
  }
  Node multiply(const Node& a, const Node& b, const Dims4& dims) {
    const Node c = between(dims);
    multiply(a, b, c);
    return c;
  }

  // `b` and `t` may be null.
  void pointwise(cudnnPointwiseMode_t mode, const Node& x, const Node* b,
                 const Node* t, const Node& y,
                 cudnnDataType_t precision = CUDNN_DATA_FLOAT,
                 int64_t axis = -1) {
    CudnnDescriptor what(calls_, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    what.set(calls_, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1,
             &mode);
    what.set(calls_, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1,
             &precision);
    if (axis >= 0) what.set(calls_, CUDNN_ATTR_POINTWISE_AXIS, axis);
    std::vector<Port> ports = {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, &x}};
    if (b) ports.push_back({CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b});
    if (t) ports.push_back({CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t});
    ports.push_back({CUDNN_ATTR_OPERATION_POINTWISE_YDESC, &y});
    finish(std::move(what), CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
           CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, ports);
  }
  Node map(cudnnPointwiseMode_t mode, const Node& x) {
    const Node y = between(x.dims);
    pointwise(mode, x, nullptr, nullptr, y);
    return y;
  }
  Node map(cudnnPointwiseMode_t mode, const Node& x, const Node& b) {
    const Node y = between(x.dims);
    pointwise(mode, x, &b, nullptr, y);
    return y;
  }

  void reduce(cudnnReduceTensorOp_t op, const Node& x, const Node& y) {
    CudnnDescriptor what(calls_, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    const cudnnDataType_t f32 = CUDNN_DATA_FLOAT;
    what.set(calls_, CUDNN_ATTR_REDUCTION_OPERATOR,
             CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &op);
    what.set(calls_, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
             &f32);
    finish(std::move(what), CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
           CUDNN_ATTR_OPERATION_REDUCTION_DESC,
           {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, &x},
            {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, &y}});
  }
  // Reduces along the rows.
  Node reduce_rows(cudnnReduceTensorOp_t op, const Node& x) {
    const Node y = between({x.dims[0], x.dims[1], x.dims[2], 1});
    reduce(op, x, y);
    return y;
  }

  // The same elements with rows and columns exchanged, in the operands' type.
  Node transpose(const Node& x) {
    Dims4 dims = x.dims, strides = x.strides;
    std::swap(dims[2], dims[3]);
    std::swap(strides[2], strides[3]);
    const Node y = between(dims, strides, type_);
    const CudnnDescriptor& operation = graph_.keep(
        CudnnDescriptor(calls_, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR));
    operation.set(calls_, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor);
    operation.set(calls_, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y.descriptor);
    operation.finalize(calls_);
    operations_.push_back(operation.get());
    return y;
  }

  CudnnGraph finish(cudnnHandle_t handle) {
    graph_.finish(calls_, handle, operations_);
    return std::move(graph_);
  }

 private:
  // An upper bound for the number of descriptors of either graph.
  static constexpr size_t kRoom = 160;
  using Port = std::pair<cudnnBackendAttributeName_t, const Node*>;

  Node add(const CudnnTensor& tensor) {
    return {&graph_.keep(make_tensor(calls_, tensor)), tensor.dims,
            tensor.strides};
  }
  Node between(const Dims4& dims, const Dims4& strides, cudnnDataType_t type) {
    return add({next_++, type, dims, strides, CudnnTensor::is_virtual});
  }

  // Finishes the operation of kind `type`, described by `what`, and connects
  // its tensors.
  void finish(CudnnDescriptor what, cudnnBackendDescriptorType_t type,
              cudnnBackendAttributeName_t name,
              const std::vector<Port>& tensors) {
    const CudnnDescriptor& kept = graph_.keep(std::move(what));
    kept.finalize(calls_);
    const CudnnDescriptor& operation =
        graph_.keep(CudnnDescriptor(calls_, type));
    operation.set(calls_, name, kept);
    for (const auto& [port, node] : tensors)
      operation.set(calls_, port, *node->descriptor);
    operation.finalize(calls_);
    operations_.push_back(operation.get());
  }

  CudnnCalls* calls_;
  const cudnnDataType_t type_;
  CudnnGraph graph_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t next_ = kUidFirstVirtual;
};

Dims4 swapped(Dims4 dims) {
  std::swap(dims[2], dims[3]);
  return dims;
}

// Strides of an operand with rows of `depth` elements, in elements.
Dims4 strides_of(const HeadStrides& rows, int64_t depth) {
  return {rows.batch * depth, rows.head * depth, rows.row * depth, 1};
}

// The operands of both graphs.
struct Operands {
  Dims4 query_dims, key_dims, value_dims, result_dims, score_dims, row_dims;
  Dims4 query_strides, key_strides, value_strides, result_strides;
  Node query, transposed_key, scale;

  Operands(Builder* build, const AttentionShape& s, cudnnDataType_t type)
      : query_dims{s.batch, s.heads, s.queries, s.depth},
        key_dims{s.batch, s.key_heads, s.keys, s.depth},
        value_dims{s.batch, s.key_heads, s.keys, s.value_depth},
        result_dims{s.batch, s.heads, s.queries, s.value_depth},
        score_dims{s.batch, s.heads, s.queries, s.keys},
        row_dims{s.batch, s.heads, s.queries, 1},
        query_strides(strides_of(s.query_strides(), s.depth)),
        key_strides(strides_of(s.key_strides(), s.depth)),
        value_strides(strides_of(s.key_strides(), s.value_depth)),
        result_strides(strides_of(s.result_strides(), s.value_depth)),
        query(build->in_memory(kUidQuery, type, query_dims, query_strides)),
        transposed_key(build->in_memory(kUidKey, type, swapped(key_dims),
                                        swapped(key_strides))),
        scale(build->by_value(kUidScale)) {}
};

// The score where query i sees key j, and `masked` elsewhere.
Node mask(Builder* build, const Node& scores) {
  const Node row = build->between(scores.dims, CUDNN_DATA_INT32);
  build->pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr, row,
                   CUDNN_DATA_FLOAT, 2);
  const Node column = build->between(scores.dims, CUDNN_DATA_INT32);
  build->pointwise(CUDNN_POINTWISE_GEN_INDEX, scores, nullptr, nullptr, column,
                   CUDNN_DATA_FLOAT, 3);
  const Node seen = build->between(scores.dims, CUDNN_DATA_BOOLEAN);
  build->pointwise(CUDNN_POINTWISE_CMP_GE, row, &column, nullptr, seen,
                   CUDNN_DATA_BOOLEAN);
  const Node masked = build->by_value(kUidMasked);
  const Node result = build->between(scores.dims);
  build->pointwise(CUDNN_POINTWISE_BINARY_SELECT, scores, &masked, &seen,
                   result);
  return result;
}

CudnnGraph make_forward(CudnnCalls* calls, cudnnHandle_t handle,
                        const AttentionShape& s) {
  const cudnnDataType_t type = cudnn_type(s.dtype);
  Builder build(calls, type);
  const Operands in(&build, s, type);
  Node scores = build.multiply(in.query, in.transposed_key, in.score_dims);
  scores = build.map(CUDNN_POINTWISE_MUL, scores, in.scale);
  if (s.causal) scores = mask(&build, scores);

  const Node largest = build.reduce_rows(CUDNN_REDUCE_TENSOR_MAX, scores);
  const Node e = build.map(CUDNN_POINTWISE_EXP,
                           build.map(CUDNN_POINTWISE_SUB, scores, largest));
  const Node sum = build.reduce_rows(CUDNN_REDUCE_TENSOR_ADD, e);
  const Node log = build.map(CUDNN_POINTWISE_LOG, sum);
  const Node log_sum_exp =
      build.in_memory(kUidLogSumExp, CUDNN_DATA_FLOAT, in.row_dims);
  build.pointwise(CUDNN_POINTWISE_ADD, largest, &log, nullptr, log_sum_exp);
  const Node p = build.narrow(in.score_dims);
  build.pointwise(CUDNN_POINTWISE_DIV, e, &sum, nullptr, p);

  const Node value =
      build.in_memory(kUidValue, type, in.value_dims, in.value_strides);
  build.multiply(
      p, value,
      build.in_memory(kUidResult, type, in.result_dims, in.result_strides));
  return build.finish(handle);
}

// A product whose heads are summed for each head of the keys.
void multiply_and_sum(Builder* build, const Node& a, const Node& b,
                      const Node& result, int64_t heads) {
  const Dims4& dims = result.dims;
  if (dims[1] == heads) return build->multiply(a, b, result);
  const Node all = build->narrow({dims[0], heads, dims[2], dims[3]});
  build->multiply(a, b, all);
  build->reduce(CUDNN_REDUCE_TENSOR_ADD, all, result);
}

CudnnGraph make_backward(CudnnCalls* calls, cudnnHandle_t handle,
                         const AttentionShape& s, bool deterministic) {
  const cudnnDataType_t type = cudnn_type(s.dtype);
  Builder build(calls, type);
  const Operands in(&build, s, type);
  const Node grad =
      build.in_memory(kUidGrad, type, in.result_dims, in.result_strides);
  const Node result =
      build.in_memory(kUidResult, type, in.result_dims, in.result_strides);
  const Node log_sum_exp =
      build.in_memory(kUidLogSumExp, CUDNN_DATA_FLOAT, in.row_dims);
  const Node one = build.by_value(kUidOne);
  const Node shared =
      build.in_memory(kUidShared, CUDNN_DATA_FLOAT, in.row_dims);
  const Node rows = build.reduce_rows(
      CUDNN_REDUCE_TENSOR_ADD, build.map(CUDNN_POINTWISE_MUL, grad, result));
  build.pointwise(CUDNN_POINTWISE_MUL, rows, &one, nullptr, shared);

  Node scores = build.multiply(in.query, in.transposed_key, in.score_dims);
  scores = build.map(CUDNN_POINTWISE_MUL, scores, in.scale);
  scores = build.map(CUDNN_POINTWISE_SUB, scores, log_sum_exp);
  if (s.causal) scores = mask(&build, scores);
  const Node p = build.map(CUDNN_POINTWISE_EXP, scores);
  multiply_and_sum(
      &build, build.transpose(p), grad,
      build.in_memory(kUidValueGrad, type, in.value_dims, in.value_strides),
      s.heads);

  const Node transposed_value = build.in_memory(
      kUidValue, type, swapped(in.value_dims), swapped(in.value_strides));
  Node p_grad = build.multiply(grad, transposed_value, in.score_dims);
  p_grad = build.map(CUDNN_POINTWISE_SUB, p_grad, shared);
  Node score_grad = build.map(CUDNN_POINTWISE_MUL, p_grad, p);
  score_grad = build.map(CUDNN_POINTWISE_MUL, score_grad, in.scale);
  multiply_and_sum(
      &build, build.transpose(score_grad), in.query,
      build.in_memory(kUidKeyGrad, type, in.key_dims, in.key_strides), s.heads);

  const Node key = build.transpose(in.transposed_key);
  const Node query_grad =
      build.in_memory(kUidQueryGrad, type, in.query_dims, in.query_strides);
  if (deterministic) {
    build.multiply(score_grad, key, query_grad);
  } else {
    const Node sums =
        build.in_memory(kUidQuerySums, CUDNN_DATA_FLOAT, in.query_dims);
    build.multiply(score_grad, key, sums);
    build.pointwise(CUDNN_POINTWISE_IDENTITY, sums, nullptr, nullptr,
                    query_grad);
  }
  return build.finish(handle);
}

}  // namespace

std::string AttentionProblem::key() const {
  std::string text = forward ? "attention" : "attention_grad";
  text += std::string(" ") + mpc_dtype_name(shape.dtype);
  for (int64_t extent :
       {shape.batch, shape.heads, shape.key_heads, shape.queries, shape.keys,
        shape.depth, shape.value_depth})
    text += " " + std::to_string(extent);
  // The plan holds the scale.
  text += " scale " + std::to_string(float_bits(shape.scale));
  text += shape.causal ? " causal" : "";
  text += shape.packed ? " packed" : shape.bshd ? " bshd" : "";
  return text + (shape.sequence_first ? " sequence_first" : "");
}

std::vector<std::pair<int64_t, float>> AttentionProblem::scalars() const {
  std::vector<std::pair<int64_t, float>> values = {{kUidScale, shape.scale}};
  if (shape.causal) values.emplace_back(kUidMasked, masked);
  if (!forward) values.emplace_back(kUidOne, 1.0f);
  return values;
}

CudnnGraph make_attention_graph(CudnnCalls* calls, cudnnHandle_t handle,
                                const AttentionProblem& problem) {
  if (problem.forward) return make_forward(calls, handle, problem.shape);
  return make_backward(calls, handle, problem.shape, problem.deterministic);
}

}  // namespace mpc::kernels
