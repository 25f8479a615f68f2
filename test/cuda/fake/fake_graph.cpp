#include "test/cuda/fake/fake_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "kernels/float_types.h"

namespace mpc::test {

using namespace cuda;

namespace {

using Dims = std::array<int64_t, 4>;

Dims dims_of(const FakeDescriptor& tensor, cudnnBackendAttributeName_t name) {
  const std::vector<int64_t> values = tensor.all<int64_t>(name);
  Dims dims = {};
  std::copy_n(values.begin(), 4, dims.begin());
  return dims;
}

bool is(const FakeDescriptor& tensor, cudnnBackendAttributeName_t name) {
  return tensor.one<unsigned char>(name) != 0;
}

int64_t count_of(const Dims& d) { return d[0] * d[1] * d[2] * d[3]; }

// Calls body(index, position in row-major order).
template <typename F>
void for_each(const Dims& dims, F&& body) {
  Dims at;
  int64_t position = 0;
  for (at[0] = 0; at[0] < dims[0]; ++at[0])
    for (at[1] = 0; at[1] < dims[1]; ++at[1])
      for (at[2] = 0; at[2] < dims[2]; ++at[2])
        for (at[3] = 0; at[3] < dims[3]; ++at[3]) body(at, position++);
}

int64_t offset(const Dims& at, const Dims& strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < 4; ++d) sum += at[d] * strides[d];
  return sum;
}

// Values in row-major order of the dimensions, independent of the strides.
struct Tensor {
  Dims dims;
  std::vector<float> values;

  // If a dimension is smaller than requested, adjacent indices share an
  // element: several query heads share a key head, and all share a single
  // element.
  float at(const Dims& index, const Dims& of) const {
    int64_t position = 0;
    for (size_t d = 0; d < 4; ++d)
      position = position * dims[d] + index[d] * dims[d] / of[d];
    return values[static_cast<size_t>(position)];
  }
};

float round_to(cudnnDataType_t type, float value) {
  switch (type) {
    case CUDNN_DATA_HALF:
      return kernels::F16(value);
    case CUDNN_DATA_BFLOAT16:
      return kernels::Bf16(value);
    default:
      return value;
  }
}

class Computation {
 public:
  Computation(const std::map<int64_t, void*>& addresses,
              const std::map<int64_t, float>& scalars)
      : addresses_(addresses), scalars_(scalars) {}

  void run(const FakeDescriptor& operation) {
    switch (operation.type) {
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
        return multiply(operation);
      case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
        return map(operation);
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
        return reduce(operation);
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
        return reshape(operation);
      default:
        throw std::logic_error("an operation that the fake does not know");
    }
  }

 private:
  Tensor load(const FakeDescriptor& descriptor) const {
    const auto between = between_.find(&descriptor);
    if (between != between_.end()) return between->second;
    Tensor tensor{dims_of(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS), {}};
    const int64_t uid = descriptor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    if (is(descriptor, CUDNN_ATTR_TENSOR_IS_BY_VALUE)) {
      tensor.values = {scalars_.at(uid)};
      return tensor;
    }
    if (is(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL))
      throw std::logic_error("read before it is written");
    const void* data = addresses_.at(uid);
    const Dims strides = dims_of(descriptor, CUDNN_ATTR_TENSOR_STRIDES);
    for_each(tensor.dims, [&](const Dims& at, int64_t) {
      const int64_t i = offset(at, strides);
      switch (descriptor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)) {
        case CUDNN_DATA_HALF:
          tensor.values.push_back(static_cast<const kernels::F16*>(data)[i]);
          break;
        case CUDNN_DATA_BFLOAT16:
          tensor.values.push_back(static_cast<const kernels::Bf16*>(data)[i]);
          break;
        default:
          tensor.values.push_back(static_cast<const float*>(data)[i]);
      }
    });
    return tensor;
  }

  void store(const FakeDescriptor& descriptor, Tensor tensor) {
    const auto type =
        descriptor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    for (float& value : tensor.values) value = round_to(type, value);
    if (!is(descriptor, CUDNN_ATTR_TENSOR_IS_VIRTUAL)) {
      void* data =
          addresses_.at(descriptor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
      const Dims strides = dims_of(descriptor, CUDNN_ATTR_TENSOR_STRIDES);
      for_each(tensor.dims, [&](const Dims& at, int64_t position) {
        const int64_t i = offset(at, strides);
        const float value = tensor.values[static_cast<size_t>(position)];
        switch (type) {
          case CUDNN_DATA_HALF:
            static_cast<kernels::F16*>(data)[i] = kernels::F16(value);
            break;
          case CUDNN_DATA_BFLOAT16:
            static_cast<kernels::Bf16*>(data)[i] = kernels::Bf16(value);
            break;
          default:
            static_cast<float*>(data)[i] = value;
        }
      });
    }
    between_[&descriptor] = std::move(tensor);
  }

  Tensor result_like(const FakeDescriptor& descriptor) const {
    Tensor tensor{dims_of(descriptor, CUDNN_ATTR_TENSOR_DIMENSIONS), {}};
    tensor.values.resize(static_cast<size_t>(count_of(tensor.dims)));
    return tensor;
  }

  void multiply(const FakeDescriptor& operation) {
    const Tensor a = load(*operation.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    const Tensor b = load(*operation.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    const FakeDescriptor& to =
        *operation.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
    Tensor c = result_like(to);
    const int64_t k = a.dims[3];
    const Dims of_a = {c.dims[0], c.dims[1], c.dims[2], k};
    const Dims of_b = {c.dims[0], c.dims[1], k, c.dims[3]};
    for_each(c.dims, [&](const Dims& at, int64_t position) {
      float sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += a.at({at[0], at[1], at[2], i}, of_a) *
               b.at({at[0], at[1], i, at[3]}, of_b);
      c.values[static_cast<size_t>(position)] = sum;
    });
    store(to, std::move(c));
  }

  void map(const FakeDescriptor& operation) {
    const FakeDescriptor& what =
        *operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    const auto mode = what.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    const auto axis =
        static_cast<size_t>(what.one<int64_t>(CUDNN_ATTR_POINTWISE_AXIS));
    const Tensor x =
        load(*operation.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    const FakeDescriptor* from_b =
        operation.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    const FakeDescriptor* from_t =
        operation.part(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    const Tensor b = from_b ? load(*from_b) : Tensor{{1, 1, 1, 1}, {0}};
    const Tensor t = from_t ? load(*from_t) : Tensor{{1, 1, 1, 1}, {0}};
    const FakeDescriptor& to =
        *operation.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
    Tensor y = result_like(to);
    for_each(y.dims, [&](const Dims& at, int64_t position) {
      const float u = x.at(at, y.dims), v = b.at(at, y.dims);
      const auto value = [&]() -> float {
        switch (mode) {
          case CUDNN_POINTWISE_ADD:
            return u + v;
          case CUDNN_POINTWISE_SUB:
            return u - v;
          case CUDNN_POINTWISE_MUL:
            return u * v;
          case CUDNN_POINTWISE_DIV:
            return u / v;
          case CUDNN_POINTWISE_EXP:
            return std::exp(u);
          case CUDNN_POINTWISE_LOG:
            return std::log(u);
          case CUDNN_POINTWISE_IDENTITY:
            return u;
          case CUDNN_POINTWISE_CMP_GE:
            return u >= v ? 1.0f : 0.0f;
          case CUDNN_POINTWISE_GEN_INDEX:
            return static_cast<float>(at[axis]);
          case CUDNN_POINTWISE_BINARY_SELECT:
            return t.at(at, y.dims) != 0 ? u : v;
        }
        throw std::logic_error("a mode that the fake does not know");
      };
      y.values[static_cast<size_t>(position)] = value();
    });
    store(to, std::move(y));
  }

  void reduce(const FakeDescriptor& operation) {
    const auto op =
        operation.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
            ->one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
    const Tensor x =
        load(*operation.part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    const FakeDescriptor& to =
        *operation.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    Tensor y = result_like(to);
    const bool is_max = op == CUDNN_REDUCE_TENSOR_MAX;
    std::fill(y.values.begin(), y.values.end(), is_max ? -INFINITY : 0.0f);
    for_each(x.dims, [&](const Dims& at, int64_t position) {
      int64_t target = 0;
      for (size_t d = 0; d < 4; ++d)
        target = target * y.dims[d] + at[d] * y.dims[d] / x.dims[d];
      float& result = y.values[static_cast<size_t>(target)];
      const float value = x.values[static_cast<size_t>(position)];
      result = is_max ? std::max(result, value) : result + value;
    });
    store(to, std::move(y));
  }

  // Views the same memory with other dimensions and strides.
  void reshape(const FakeDescriptor& operation) {
    const FakeDescriptor& from =
        *operation.part(CUDNN_ATTR_OPERATION_RESHAPE_XDESC);
    const FakeDescriptor& to =
        *operation.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
    const Tensor x = load(from);
    const Dims from_strides = dims_of(from, CUDNN_ATTR_TENSOR_STRIDES);
    const Dims to_strides = dims_of(to, CUDNN_ATTR_TENSOR_STRIDES);
    std::map<int64_t, float> memory;
    for_each(x.dims, [&](const Dims& at, int64_t position) {
      memory[offset(at, from_strides)] =
          x.values[static_cast<size_t>(position)];
    });
    Tensor y = result_like(to);
    for_each(y.dims, [&](const Dims& at, int64_t position) {
      y.values[static_cast<size_t>(position)] =
          memory.at(offset(at, to_strides));
    });
    store(to, std::move(y));
  }

  const std::map<int64_t, void*>& addresses_;
  const std::map<int64_t, float>& scalars_;
  std::map<const FakeDescriptor*, Tensor> between_;
};

// Calls body(tensor) for each tensor that an operation refers to.
template <typename F>
void for_tensors(const FakeDescriptor& graph, F&& body) {
  for (const FakeDescriptor* operation :
       graph.all<FakeDescriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    for (const auto& [name, attribute] : operation->attributes) {
      const FakeDescriptor* part = operation->part(name);
      if (part->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR) body(*part);
    }
}

}  // namespace

bool has_product(const FakeDescriptor& graph) {
  const auto operations =
      graph.all<FakeDescriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  return std::any_of(operations.begin(), operations.end(),
                     [](const FakeDescriptor* operation) {
                       return operation->type ==
                              CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
                     });
}

std::map<int64_t, float> values_of_scalars(
    const FakeDescriptor& graph, const std::map<int64_t, void*>& addresses) {
  std::map<int64_t, float> values;
  for_tensors(graph, [&](const FakeDescriptor& tensor) {
    const int64_t uid = tensor.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    if (is(tensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE))
      values[uid] = *static_cast<const float*>(addresses.at(uid));
  });
  return values;
}

void compute(const FakeDescriptor& graph,
             const std::map<int64_t, void*>& addresses,
             const std::map<int64_t, float>& scalars) {
  Computation computation(addresses, scalars);
  for (const FakeDescriptor* operation :
       graph.all<FakeDescriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS))
    computation.run(*operation);
}

}  // namespace mpc::test
