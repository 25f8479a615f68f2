#include "test/cuda/fake/fake_descriptors.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/float_types.h"

namespace mpc::test {

using namespace cuda;

namespace {

struct Rule {
  cudnnBackendDescriptorType_t descriptor;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  int64_t count;  // 0: any number.
  bool required;
};

// The names of the three convolutions in one order.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t convolution, x, w, y, alpha, beta;
};
const Names kConvolutions[] = {
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
     CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

// Rules from the library's header.
std::vector<Rule> make_rules() {
  std::vector<Rule> rules = {
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DATA_TYPE,
       CUDNN_TYPE_DATA_TYPE, 1, true},
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_DIMENSIONS,
       CUDNN_TYPE_INT64, 0, true},
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_STRIDES,
       CUDNN_TYPE_INT64, 0, true},
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_UNIQUE_ID,
       CUDNN_TYPE_INT64, 1, true},
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT,
       CUDNN_TYPE_INT64, 1, true},
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_VIRTUAL,
       CUDNN_TYPE_BOOLEAN, 1, false},
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR, CUDNN_ATTR_TENSOR_IS_BY_VALUE,
       CUDNN_TYPE_BOOLEAN, 1, false},
      {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_AXIS,
       CUDNN_TYPE_INT64, 1, false},
      {CUDNN_BACKEND_MATMUL_DESCRIPTOR, CUDNN_ATTR_MATMUL_COMP_TYPE,
       CUDNN_TYPE_DATA_TYPE, 1, true},
      {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_OPERATOR,
       CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, true},
      {CUDNN_BACKEND_REDUCTION_DESCRIPTOR, CUDNN_ATTR_REDUCTION_COMP_TYPE,
       CUDNN_TYPE_DATA_TYPE, 1, true},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
       CUDNN_TYPE_DATA_TYPE, 1, true},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, CUDNN_ATTR_CONVOLUTION_CONV_MODE,
       CUDNN_TYPE_CONVOLUTION_MODE, 1, true},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
       CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, true},
      {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MODE,
       CUDNN_TYPE_POINTWISE_MODE, 1, true},
      {CUDNN_BACKEND_POINTWISE_DESCRIPTOR, CUDNN_ATTR_POINTWISE_MATH_PREC,
       CUDNN_TYPE_DATA_TYPE, 1, true},
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, CUDNN_ATTR_OPERATIONGRAPH_OPS,
       CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, true},
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
       CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, true},
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
       CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
       true},
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, CUDNN_ATTR_ENGINEHEUR_MODE,
       CUDNN_TYPE_HEUR_MODE, 1, true},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
       CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, true},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
       CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 0,
       false},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
       CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
       1, false},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
       CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 0, true},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
       CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 0, true},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, CUDNN_ATTR_VARIANT_PACK_WORKSPACE,
       CUDNN_TYPE_VOID_PTR, 1, true},
  };
  for (auto name :
       {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
        CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS,
        CUDNN_ATTR_CONVOLUTION_POST_PADDINGS})
    rules.push_back({CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, name,
                     CUDNN_TYPE_INT64, 2, true});
  for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR,
                    CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                    CUDNN_ATTR_OPERATION_POINTWISE_YDESC})
    rules.push_back({CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, name,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true});
  for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC})
    rules.push_back({CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, name,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, false});
  for (auto name :
       {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC,
        CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_ATTR_OPERATION_MATMUL_DESC})
    rules.push_back({CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, name,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true});
  for (auto name : {CUDNN_ATTR_OPERATION_REDUCTION_XDESC,
                    CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
                    CUDNN_ATTR_OPERATION_REDUCTION_DESC})
    rules.push_back({CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, name,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true});
  for (auto name :
       {CUDNN_ATTR_OPERATION_RESHAPE_XDESC, CUDNN_ATTR_OPERATION_RESHAPE_YDESC})
    rules.push_back({CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, name,
                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true});
  for (const Names& names : kConvolutions) {
    for (auto name : {names.convolution, names.x, names.w, names.y})
      rules.push_back(
          {names.type, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, true});
    for (auto name : {names.alpha, names.beta})
      rules.push_back({names.type, name, CUDNN_TYPE_FLOAT, 1, true});
  }
  return rules;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = make_rules();
  return all;
}

using Dims = std::array<int64_t, 4>;

Dims dims_of(const FakeDescriptor& tensor, cudnnBackendAttributeName_t name) {
  const std::vector<int64_t> values = tensor.all<int64_t>(name);
  Dims dims = {};
  std::copy_n(values.begin(), values.size() < 4 ? values.size() : 4,
              dims.begin());
  return dims;
}

// A tensor with values of some type.
struct View {
  explicit View(const FakeDescriptor& tensor)
      : type(tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        dims(dims_of(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(dims_of(tensor, CUDNN_ATTR_TENSOR_STRIDES)) {}

  int64_t offset(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return n * strides[0] + c * strides[1] + h * strides[2] + w * strides[3];
  }
  float load(int64_t at) const {
    switch (type) {
      case CUDNN_DATA_HALF:
        return static_cast<const kernels::F16*>(data)[at];
      case CUDNN_DATA_BFLOAT16:
        return static_cast<const kernels::Bf16*>(data)[at];
      default:
        return static_cast<const float*>(data)[at];
    }
  }
  // All values of a dense tensor.
  std::vector<float> all() const {
    std::vector<float> values(
        static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = load(static_cast<int64_t>(i));
    return values;
  }
  void store(int64_t at, float value) const {
    switch (type) {
      case CUDNN_DATA_HALF:
        static_cast<kernels::F16*>(data)[at] = kernels::F16(value);
        return;
      case CUDNN_DATA_BFLOAT16:
        static_cast<kernels::Bf16*>(data)[at] = kernels::Bf16(value);
        return;
      default:
        static_cast<float*>(data)[at] = value;
    }
  }

  cudnnDataType_t type;
  Dims dims, strides;
  void* data = nullptr;
};

std::string check_tensor(const FakeDescriptor& tensor) {
  const auto dims = tensor.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = tensor.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  if (dims.size() != 4 || strides.size() != 4) return "a tensor has 4 dims";
  for (size_t i = 0; i < 4; ++i)
    if (dims[i] < 1 || strides[i] < 1) return "dims and strides are positive";
  return "";
}

// Checks that the heads of an operand divide those of the result, and that all
// other dimensions agree.
std::string check_product(const FakeDescriptor& operation) {
  const View a(*operation.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC)),
      b(*operation.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC)),
      c(*operation.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  if (operation.part(CUDNN_ATTR_OPERATION_MATMUL_DESC)
          ->one<cudnnDataType_t>(CUDNN_ATTR_MATMUL_COMP_TYPE) !=
      CUDNN_DATA_FLOAT)
    return "sums are in f32";
  if (a.dims[0] != c.dims[0] || b.dims[0] != c.dims[0] ||
      a.dims[2] != c.dims[2] || b.dims[3] != c.dims[3] ||
      a.dims[3] != b.dims[2])
    return "the factors of a product do not go together";
  if (c.dims[1] % a.dims[1] != 0 || c.dims[1] % b.dims[1] != 0)
    return "the heads of a product do not go together";
  return "";
}

std::string check_pointwise(const FakeDescriptor& operation) {
  const auto mode =
      operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
          ->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const bool one = mode == CUDNN_POINTWISE_EXP || mode == CUDNN_POINTWISE_LOG ||
                   mode == CUDNN_POINTWISE_IDENTITY ||
                   mode == CUDNN_POINTWISE_GEN_INDEX;
  const bool three = mode == CUDNN_POINTWISE_BINARY_SELECT;
  if (operation.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC) == one ||
      operation.has(CUDNN_ATTR_OPERATION_POINTWISE_TDESC) != three)
    return "a pointwise operation has another number of operands";
  const View y(*operation.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  for (auto name : {CUDNN_ATTR_OPERATION_POINTWISE_XDESC,
                    CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                    CUDNN_ATTR_OPERATION_POINTWISE_TDESC}) {
    if (!operation.has(name)) continue;
    const View operand(*operation.part(name));
    for (size_t d = 0; d < 4; ++d)
      if (operand.dims[d] != 1 && operand.dims[d] != y.dims[d])
        return "operands of a pointwise operation do not broadcast";
  }
  return "";
}

std::string check_convolution(const FakeDescriptor& operation,
                              const Names& names) {
  const FakeDescriptor& conv = *operation.part(names.convolution);
  if (conv.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) !=
      CUDNN_DATA_FLOAT)
    return "sums are in f32";
  if (conv.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
      CUDNN_CROSS_CORRELATION)
    return "windows are not mirrored";
  if (operation.one<float>(names.alpha) != 1 ||
      operation.one<float>(names.beta) != 0)
    return "results are overwritten";
  const View x(*operation.part(names.x)), w(*operation.part(names.w)),
      y(*operation.part(names.y));
  if (x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1])
    return "x, w and y do not go together";
  if (x.dims[1] % w.dims[1] != 0 || y.dims[1] % (x.dims[1] / w.dims[1]) != 0)
    return "no number of groups fits";
  const Dims dilations = dims_of(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS),
             steps = dims_of(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
             pre = dims_of(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS),
             post = dims_of(conv, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  for (size_t d = 0; d < 2; ++d)
    if (y.dims[d + 2] != 1 + (x.dims[d + 2] + pre[d] + post[d] -
                              (w.dims[d + 2] - 1) * dilations[d] - 1) /
                                 steps[d])
      return "the extent of y does not follow from the others";
  return "";
}

}  // namespace

size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

bool attribute_of(cudnnBackendDescriptorType_t type,
                  cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t* out_type, int64_t* out_count) {
  for (const Rule& rule : rules())
    if (rule.descriptor == type && rule.name == name) {
      *out_type = rule.type;
      *out_count = rule.count;
      return true;
    }
  return false;
}

std::string check_descriptor(const FakeDescriptor& descriptor) {
  for (const Rule& rule : rules()) {
    if (rule.descriptor != descriptor.type) continue;
    if (rule.required && !descriptor.has(rule.name))
      return "attribute " + std::to_string(rule.name) + " is not set";
    if (rule.type != CUDNN_TYPE_BACKEND_DESCRIPTOR) continue;
    for (const FakeDescriptor* part :
         descriptor.all<FakeDescriptor*>(rule.name))
      if (!part || !part->finalized)
        return "attribute " + std::to_string(rule.name) + " is not finalized";
  }
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR &&
      descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) ==
          descriptor.has(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION))
    return "a plan is made of a configuration or of text";
  if (descriptor.type == CUDNN_BACKEND_TENSOR_DESCRIPTOR)
    return check_tensor(descriptor);
  if (descriptor.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR)
    return check_product(descriptor);
  if (descriptor.type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
    return check_pointwise(descriptor);
  for (const Names& names : kConvolutions)
    if (names.type == descriptor.type)
      return check_convolution(descriptor, names);
  if (descriptor.type == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR &&
      descriptor.all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).size() !=
          descriptor.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS).size())
    return "as many numbers as pointers";
  return "";
}

// The result tensor of the convolution.
static const FakeDescriptor** result_of(FakeConv* conv) {
  switch (conv->kind) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return &conv->y;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return &conv->x;
    default:
      return &conv->w;
  }
}

FakeConv conv_of(const FakeDescriptor& graph) {
  FakeConv conv = {};
  for (const FakeDescriptor* operation :
       graph.all<FakeDescriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    for (const Names& names : kConvolutions)
      if (names.type == operation->type)
        conv = {operation,
                operation->part(names.convolution),
                operation->part(names.x),
                operation->part(names.w),
                operation->part(names.y),
                nullptr,
                false,
                names.type};
    if (operation->type != CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)
      continue;
    // The identity of the convolution's virtual result, or its sum with a bias.
    const FakeDescriptor** made = result_of(&conv);
    if (operation->part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC) != *made)
      return {};
    const bool is_sum =
        operation->part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
            ->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE) ==
        CUDNN_POINTWISE_ADD;
    if (is_sum != operation->has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC))
      return {};
    conv.is_fused = true;
    if (is_sum)
      conv.bias = operation->part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    *made = operation->part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  }
  return conv;
}

void compute(const FakeConv& conv, const std::map<int64_t, void*>& addresses) {
  const auto view = [&](const FakeDescriptor* tensor) {
    View made(*tensor);
    const auto found =
        addresses.find(tensor->one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID));
    if (found != addresses.end()) made.data = found->second;
    return made;
  };
  const View x = view(conv.x), y = view(conv.y);
  View w = view(conv.w);
  const Dims dilations =
                 dims_of(*conv.convolution, CUDNN_ATTR_CONVOLUTION_DILATIONS),
             steps = dims_of(*conv.convolution,
                             CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES),
             pre = dims_of(*conv.convolution,
                           CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const bool forward =
      conv.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
  const bool to_input =
      conv.kind == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
  const View& out = forward ? y : to_input ? x : w;
  // Like version 9.19 on an H200, which reports no error: for an f32 result of
  // 16-bit operands it ignores the layout of weights, and computes their
  // gradient only with channels last and in multiples of eight.
  const bool mixed = (forward ? x : y).type != out.type;
  const bool last = x.strides[1] == 1;
  if (mixed && last)
    w.strides = {w.dims[1] * w.dims[2] * w.dims[3], 1, w.dims[3] * w.dims[1],
                 w.dims[1]};
  const bool wrong = mixed && !forward && !to_input &&
                     (!last || x.dims[1] % 8 != 0 || y.dims[1] % 8 != 0);
  // f32 sums for every element of the result, indexed by offset (it is dense).
  std::vector<float> sums(static_cast<size_t>(out.dims[0] * out.dims[1] *
                                              out.dims[2] * out.dims[3]));
  const int64_t outputs = y.dims[1] / (x.dims[1] / w.dims[1]);
  // The operands in f32, indexed by offset.
  const std::vector<float> in_x = to_input ? std::vector<float>() : x.all(),
                           in_w = forward || to_input ? w.all()
                                                      : std::vector<float>(),
                           in_y = forward ? std::vector<float>() : y.all();
  for (int64_t n = 0; n < y.dims[0]; ++n)
    for (int64_t o = 0; o < y.dims[1]; ++o)
      for (int64_t h = 0; h < y.dims[2]; ++h)
        for (int64_t p = 0; p < y.dims[3]; ++p)
          for (int64_t c = 0; c < w.dims[1]; ++c)
            for (int64_t kh = 0; kh < w.dims[2]; ++kh)
              for (int64_t kw = 0; kw < w.dims[3]; ++kw) {
                const int64_t ih = h * steps[0] - pre[0] + kh * dilations[0];
                const int64_t iw = p * steps[1] - pre[1] + kw * dilations[1];
                if (ih < 0 || ih >= x.dims[2] || iw < 0 || iw >= x.dims[3])
                  continue;
                const int64_t at_x =
                    x.offset(n, o / outputs * w.dims[1] + c, ih, iw);
                const int64_t at_w = w.offset(o, c, kh, kw);
                const int64_t at_y = y.offset(n, o, h, p);
                if (forward)
                  sums[at_y] += in_x[at_x] * in_w[at_w];
                else if (to_input)
                  sums[at_x] += in_y[at_y] * in_w[at_w];
                else
                  sums[at_w] += in_y[at_y] * in_x[at_x];
              }
  for (int64_t n = 0; n < out.dims[0]; ++n)
    for (int64_t c = 0; c < out.dims[1]; ++c)
      for (int64_t h = 0; h < out.dims[2]; ++h)
        for (int64_t p = 0; p < out.dims[3]; ++p) {
          const int64_t at = out.offset(n, c, h, p);
          float sum = wrong ? NAN : sums.at(at);
          if (conv.bias) {
            const View bias = view(conv.bias);
            sum += bias.load(bias.offset(0, c, 0, 0));
          }
          out.store(at, sum);
        }
}

}  // namespace mpc::test
