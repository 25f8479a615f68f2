// Convolution and its gradients. Activations are used in their layout in
// memory. Weights are small, so they are reordered to and from the layout that
// the primitive prefers. If the CPU has no instructions for the type, strips of
// images are widened for f32 primitives.

#include <cstring>

#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/dnnl/dnnl_describe.h"
#include "kernels/cpu/widened/image_strips.h"

namespace mpc::kernels::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using tag = memory::format_tag;

constexpr double kFlopsPerThread = 1e6;
// Up to this number of channels in a group the jit kernels are faster than
// those built from small matrix products, by 1.1x to 1.8x on Zen 5.
constexpr int64_t kFewChannels = 32;

// oneDNN's description of the problem for `batch` images, in f32 if they are
// widened.
struct Problem {
  Problem(const ConvShape& s, int64_t batch, bool widened) {
    const auto type = [widened](mpc_dtype_t dtype) {
      return widened ? memory::data_type::f32 : dnnl_type(dtype);
    };
    input = image(s, batch, s.input_channels, s.input);
    output = image(s, batch, s.output_channels, s.output);
    input_type = output_type = weight_type = type(s.dtype);
    result_type = type(s.result_dtype);
    bias = memory::desc({s.output_channels}, type(s.bias_dtype), tag::a);
    weight = {s.output_channels, s.input_channels / s.group, s.window.kernel[0],
              s.window.kernel[1]};
    plain = tag::oihw;
    if (s.group > 1) {
      weight[0] /= s.group;
      weight.insert(weight.begin(), s.group);
      plain = tag::goihw;
    }
    for (int d = 0; d < 2; ++d) {
      strides.push_back(s.window.strides[d]);
      dilations.push_back(s.window.dilations[d] - 1);  // oneDNN counts gaps.
      pads_begin.push_back(s.window.pads_begin[d]);
      pads_end.push_back(s.window.pads_end[d]);
    }
  }

  struct Image {
    memory::dims dims;
    tag layout;
    memory::desc desc(memory::data_type type) const {
      return memory::desc(dims, type, layout);
    }
  };
  static Image image(const ConvShape& s, int64_t batch, int64_t channels,
                     const std::array<int64_t, 2>& extent) {
    // With one channel both layouts are the same, and oneDNN is faster with
    // this one.
    const bool last = s.channels_last || channels == 1;
    return {{batch, channels, extent[0], extent[1]},
            last ? tag::nhwc : tag::nchw};
  }
  memory::desc any_weight(memory::data_type type) const {
    return memory::desc(weight, type, tag::any);
  }
  memory::desc plain_weight(memory::data_type type) const {
    return memory::desc(weight, type, plain);
  }

  Image input, output;
  memory::data_type input_type, output_type, weight_type, result_type;
  memory::desc bias;
  memory::dims weight, strides, dilations, pads_begin, pads_end;
  tag plain;
};

using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

template <typename Choose>
Forward::primitive_desc describe_forward(
    const Problem& p, const memory::desc& weight, memory::data_type result,
    bool has_bias, const dnnl::engine& engine, Choose choose) {
  const memory::desc input = p.input.desc(p.input_type);
  const memory::desc output = p.output.desc(result);
  if (has_bias)
    return describe_chosen<Forward>(
        engine, user_scratchpad(), choose, prop_kind::forward_training,
        algorithm::convolution_direct, input, weight, p.bias, output, p.strides,
        p.dilations, p.pads_begin, p.pads_end);
  return describe_chosen<Forward>(
      engine, user_scratchpad(), choose, prop_kind::forward_training,
      algorithm::convolution_direct, input, weight, output, p.strides,
      p.dilations, p.pads_begin, p.pads_end);
}

// The hint that a gradient primitive needs: any forward primitive of the same
// geometry.
Forward::primitive_desc forward_hint(const Problem& p,
                                     const dnnl::engine& engine) {
  return describe_forward(p, p.any_weight(p.weight_type), p.output_type, false,
                          engine, [](auto make) { return make(); });
}

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// Whether jit kernels are faster than the implementation.
bool prefers_jit(const ConvShape& s, const char* implementation) {
  if (s.input_channels / s.group > kFewChannels ||
      std::strstr(implementation, "amx"))
    return false;
  for (const char* prefix : {"brgconv:avx512_core", "brg_conv_fwd:avx512_core",
                             "brdgmm_dw:avx512_core"})
    if (starts_with(implementation, prefix)) return true;
  return false;
}

Forward::primitive_desc make_forward(const ConvShape& s, const Problem& p,
                                     const memory::desc& weight,
                                     const dnnl::engine& engine) {
  const auto choose = [&s](auto make) {
    Forward::primitive_desc first = make();
    if (!prefers_jit(s, first.impl_info_str())) return first;
    Forward::primitive_desc other = make();
    while (other.next_impl())
      if (starts_with(other.impl_info_str(), "jit") &&
          std::strstr(other.impl_info_str(), "avx512_core"))
        return other;
    return first;
  };
  return describe_forward(p, weight, p.result_type, s.has_bias, engine, choose);
}

// The common part of the three kinds of convolution: which argument is which
// operand, and how a call for a number of images is made.
class Builder {
 public:
  Builder(KernelId id, const ConvShape& shape, const Context& context);
  std::unique_ptr<Kernel> build();

 private:
  struct Call {
    dnnl::primitive primitive;
    std::string name;
    memory::desc weight, scratchpad;
  };
  // The image operands of a call: two that it reads, or one that it reads and
  // one that it writes.
  struct Images {
    Slot first, second;
  };
  // Makes a call for the images of `p` with a weight of this layout.
  Call make(const Problem& p, const memory::desc& weight) const;
  DnnlCall bind(const Problem& p, const Call& call, const Images& images,
                Slot weight, Slot scratchpad) const;
  DnnlCall bind_native(const Problem& p, const Call& call);
  WidenedCall bind_widened(const std::vector<Call>& calls);
  void build_native(const Call& call);
  void build_widened(const Call& call);
  void bring_bias();
  void reorder_weight_in(const Call& call);
  void reorder_weight_out(const Call& call);
  Slot widen_operand(int operand, mpc_dtype_t dtype, int64_t count);
  Slot image_slot(int operand, const Problem::Image& image,
                  memory::data_type type) const;
  Slot scratchpad_slot(size_t bytes) {
    return bytes == 0 ? Slot{Slot::kScratch} : kernel_->layout.add(bytes);
  }
  Problem problem(int64_t batch) const { return {shape_, batch, widened_}; }
  bool to_weight() const { return id_ == KernelId::conv_grad_weight; }
  int result_operand() const { return shape_.has_bias ? 3 : 2; }

  const KernelId id_;
  const ConvShape& shape_;
  const bool widened_;
  const dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::unique_ptr<DnnlKernel> kernel_ = std::make_unique<DnnlKernel>();
  Cut pieces_;
  std::shared_ptr<const ImageStrips> strips_;  // Null where native.
  Slot weight_{1}, bias_{2};
};

double conv_flops(const ConvShape& s) {
  const auto d = [](int64_t value) { return static_cast<double>(value); };
  return 2.0 * d(s.batch) * d(s.output[0]) * d(s.output[1]) *
         d(s.output_channels) * d(s.input_channels / s.group) *
         d(s.window.kernel[0]) * d(s.window.kernel[1]);
}

// In oneDNN's kernels for weight gradients the threads spin to wait for each
// other, for milliseconds if other processes use the cores. So each thread gets
// its own images if partial gradients per thread do not take too much memory.
bool splits_images_by_thread(KernelId id, const ConvShape& s, int threads) {
  constexpr int64_t kMaxPartialElements = int64_t{1} << 20;
  const int64_t elements = s.output_channels * (s.input_channels / s.group) *
                           s.window.kernel[0] * s.window.kernel[1];
  return id == KernelId::conv_grad_weight && threads > 1 &&
         s.batch >= threads && elements <= kMaxPartialElements / threads;
}

Builder::Builder(KernelId id, const ConvShape& shape, const Context& context)
    : id_(id), shape_(shape), widened_(is_widened(shape.dtype)) {
  const double work = conv_flops(shape);
  const int threads = threads_for(work, kFlopsPerThread, context.threads);
  kernel_->set_threads(threads, context.deterministic);
  pieces_ = context.deterministic ? cut(shape.batch, 1, work)
                                  : Cut{shape.batch, 1, 0};
  if (!widened_ && !context.deterministic &&
      splits_images_by_thread(id, shape, threads)) {
    const int64_t size = (shape.batch + threads - 1) / threads;
    pieces_ = {size, shape.batch / size, shape.batch % size};
    kernel_->inner_threads = 1;
    kernel_->piece_threads = threads;
  }
  if (!widened_) return;
  strips_ = std::make_shared<const ImageStrips>(
      id, shape, work, Context{threads, context.deterministic});
  pieces_ = {strips_->strip(), strips_->pieces(), 0};
  kernel_->inner_threads = strips_->inner_threads() ? threads : 1;
  kernel_->piece_threads = strips_->inner_threads() ? 1 : threads;
  kernel_->outer_threads = threads;
}

Builder::Call Builder::make(const Problem& p,
                            const memory::desc& weight) const {
  const dnnl::primitive_attr attributes = user_scratchpad();
  if (id_ == KernelId::conv_grad_input) {
    const auto pd = describe_gradient<BackwardData>(
        engine_, attributes, forward_hint(p, engine_),
        algorithm::convolution_direct, p.input.desc(p.result_type), weight,
        p.output.desc(p.output_type), p.strides, p.dilations, p.pads_begin,
        p.pads_end);
    return {make_primitive<BackwardData>(pd), pd.impl_info_str(),
            pd.weights_desc(), pd.scratchpad_desc()};
  }
  if (id_ == KernelId::conv_grad_weight) {
    const auto pd = describe_gradient<BackwardWeights>(
        engine_, attributes, forward_hint(p, engine_),
        algorithm::convolution_direct, p.input.desc(p.input_type), weight,
        p.output.desc(p.output_type), p.strides, p.dilations, p.pads_begin,
        p.pads_end);
    return {make_primitive<BackwardWeights>(pd), pd.impl_info_str(),
            pd.diff_weights_desc(), pd.scratchpad_desc()};
  }
  const Forward::primitive_desc pd = make_forward(shape_, p, weight, engine_);
  return {make_primitive<Forward>(pd), pd.impl_info_str(), pd.weights_desc(),
          pd.scratchpad_desc()};
}

// The slot of an image operand: pieces have consecutive images.
Slot Builder::image_slot(int operand, const Problem::Image& image,
                         memory::data_type type) const {
  size_t stride = memory::data_type_size(type) * pieces_.size;
  for (size_t i = 1; i < image.dims.size(); ++i) stride *= image.dims[i];
  return {operand, 0, stride};
}

DnnlCall Builder::bind(const Problem& p, const Call& call, const Images& images,
                       Slot weight, Slot scratchpad) const {
  DnnlCall bound(engine_, call.primitive);
  switch (id_) {
    case KernelId::conv_grad_input:
      bound.bind(DNNL_ARG_DIFF_DST, p.output.desc(p.output_type), images.first);
      bound.bind(DNNL_ARG_WEIGHTS, call.weight, weight);
      bound.bind(DNNL_ARG_DIFF_SRC, p.input.desc(p.result_type), images.second);
      break;
    case KernelId::conv_grad_weight:
      bound.bind(DNNL_ARG_DIFF_DST, p.output.desc(p.output_type), images.first);
      bound.bind(DNNL_ARG_SRC, p.input.desc(p.input_type), images.second);
      bound.bind(DNNL_ARG_DIFF_WEIGHTS, call.weight, weight);
      break;
    default:
      bound.bind(DNNL_ARG_SRC, p.input.desc(p.input_type), images.first);
      bound.bind(DNNL_ARG_WEIGHTS, call.weight, weight);
      if (shape_.has_bias) bound.bind(DNNL_ARG_BIAS, p.bias, bias_);
      bound.bind(DNNL_ARG_DST, p.output.desc(p.result_type), images.second);
  }
  if (call.scratchpad.get_size() != 0)
    bound.bind(DNNL_ARG_SCRATCHPAD, call.scratchpad, scratchpad);
  return bound;
}

DnnlCall Builder::bind_native(const Problem& p, const Call& call) {
  const Slot scratchpad = scratchpad_slot(call.scratchpad.get_size());
  Images images;
  switch (id_) {
    case KernelId::conv_grad_input:
      images = {image_slot(0, p.output, p.output_type),
                image_slot(2, p.input, p.result_type)};
      break;
    case KernelId::conv_grad_weight:
      images = {image_slot(0, p.output, p.output_type),
                image_slot(1, p.input, p.input_type)};
      break;
    default:
      images = {image_slot(0, p.input, p.input_type),
                image_slot(result_operand(), p.output, p.result_type)};
  }
  return bind(p, call, images, weight_, scratchpad);
}

// Makes the call of one thread, with primitives for a strip and for the rest.
WidenedCall Builder::bind_widened(const std::vector<Call>& calls) {
  const auto images = [&](int64_t elements) {
    return kernel_->layout.add(
        sizeof(float) * static_cast<size_t>(strips_->strip() * elements));
  };
  WidenedCall bound(strips_, kernel_->inner_threads);
  const Slot first = images(strips_->input_elements(0));
  const Slot second = images(to_weight() ? strips_->input_elements(1)
                                         : strips_->result_elements());
  bound.inputs = {{0, Conversion(shape_.dtype), first}};
  if (to_weight())
    bound.inputs.push_back({1, Conversion(shape_.dtype), second});
  else
    bound.result = {result_operand(), Conversion(shape_.result_dtype), second};

  size_t scratchpad = 0;
  for (const Call& call : calls)
    scratchpad = std::max(scratchpad, call.scratchpad.get_size());
  const Slot pad = scratchpad_slot(scratchpad);
  const auto add_calls = [&](Slot weight) {
    for (size_t i = 0; i < calls.size(); ++i)
      bound.calls.push_back(
          bind(problem(i == 0 ? strips_->strip() : strips_->rest()), calls[i],
               {first, second}, weight, pad));
  };
  add_calls(weight_);
  if (to_weight() && strips_->sums()) {
    const size_t bytes = calls[0].weight.get_size();
    const Slot addend = kernel_->layout.add(bytes);
    bound.sum = {addend, weight_, static_cast<int64_t>(bytes / sizeof(float))};
    add_calls(addend);
  }
  return bound;
}

// Widens a whole operand to f32, before the pieces run.
Slot Builder::widen_operand(int operand, mpc_dtype_t dtype, int64_t count) {
  const Slot to =
      kernel_->layout.add(sizeof(float) * static_cast<size_t>(count));
  kernel_->prepare.push_back(std::make_unique<WidenOperand>(
      operand, dtype, count, to, kernel_->outer_threads));
  return to;
}

void Builder::bring_bias() {
  if (strips_ && shape_.has_bias && shape_.bias_dtype != MPC_DTYPE_F32)
    bias_ = widen_operand(2, shape_.bias_dtype, shape_.output_channels);
}

// Sets the slot of the weight that the primitive reads, with a reorder if
// needed.
void Builder::reorder_weight_in(const Call& call) {
  const Problem p = problem(1);
  const memory::desc plain = p.plain_weight(p.weight_type);
  Slot from{1};
  if (strips_)
    from =
        widen_operand(1, shape_.dtype,
                      static_cast<int64_t>(plain.get_size() / sizeof(float)));
  weight_ = from;
  if (call.weight == plain) return;
  weight_ = kernel_->layout.add(call.weight.get_size());
  const dnnl::reorder::primitive_desc pd(engine_, plain, engine_, call.weight,
                                         user_scratchpad());
  DnnlCall reorder(engine_, make_primitive<dnnl::reorder>(pd));
  reorder.bind(DNNL_ARG_FROM, plain, from);
  reorder.bind(DNNL_ARG_TO, call.weight, weight_);
  reorder.bind_scratchpad(pd.scratchpad_desc(), &kernel_->layout);
  kernel_->prepare.push_back(DnnlKernel::own(std::move(reorder)));
}

// Sets the slot of the weight gradient that the primitive writes, with a
// reorder if needed.
void Builder::reorder_weight_out(const Call& call) {
  const Problem p = problem(1);
  const memory::desc plain = p.plain_weight(p.result_type);
  const size_t bytes = call.weight.get_size();
  const bool reorder = call.weight != plain, several = pieces_.total() > 1;
  Slot sum{2};
  if (reorder) sum = kernel_->layout.add(bytes);
  weight_ = sum;
  if (several) {
    weight_ = kernel_->layout.add_pieces(bytes, pieces_.total());
    kernel_->sum =
        PartialSums{weight_, sum, static_cast<int64_t>(bytes / sizeof(float))};
  }
  if (!reorder) return;
  const dnnl::reorder::primitive_desc pd(engine_, call.weight, engine_, plain,
                                         user_scratchpad());
  DnnlCall back(engine_, make_primitive<dnnl::reorder>(pd));
  back.bind(DNNL_ARG_FROM, call.weight, sum);
  back.bind(DNNL_ARG_TO, plain, {2});
  back.bind_scratchpad(pd.scratchpad_desc(), &kernel_->layout);
  kernel_->finish = DnnlKernel::own(std::move(back));
}

void Builder::build_native(const Call& call) {
  kernel_->add_workers(
      pieces_, [&] { return bind_native(problem(pieces_.size), call); });
  if (pieces_.rest == 0) return;
  const Problem rest = problem(pieces_.rest);
  kernel_->tail = DnnlKernel::own(bind_native(rest, make(rest, call.weight)));
}

void Builder::build_widened(const Call& call) {
  std::vector<Call> calls = {call};
  if (strips_->rest() != 0)
    calls.push_back(make(problem(strips_->rest()), call.weight));
  kernel_->name = "widened:" + call.name;
  kernel_->add_workers(pieces_, [&] { return bind_widened(calls); });
}

std::unique_ptr<Kernel> Builder::build() {
  const ThreadScope inner(kernel_->inner_threads);
  const Problem p = problem(pieces_.size);
  const Call call =
      make(p, p.any_weight(to_weight() ? p.result_type : p.weight_type));
  kernel_->name = call.name;
  {
    const ThreadScope outer(kernel_->outer_threads);
    bring_bias();
    if (to_weight())
      reorder_weight_out(call);
    else
      reorder_weight_in(call);
  }
  if (strips_)
    build_widened(call);
  else
    build_native(call);
  return std::move(kernel_);
}

// From this number of weights per pixel on, a 1x1 convolution is faster as a
// matrix product: its weight needs no reorder, its gradient no sum over
// threads. Below that, oneDNN's convolutions are faster by up to 1.4x.
constexpr double kWeightsPerPixel = 32, kGradWeightsPerPixel = 1;

// The convolution as a product of [pixels, channels] with its weight, with the
// operands in the same order.
bool as_matmul(KernelId id, const ConvShape& s, MatmulShape* product) {
  const std::array<int64_t, 2> one = {1, 1}, none = {0, 0};
  const Window& w = s.window;
  if (!s.channels_last || s.has_bias || s.group != 1 || w.kernel != one ||
      w.strides != one || w.pads_begin != none || w.pads_end != none)
    return false;
  const int64_t pixels = s.batch * s.output[0] * s.output[1];
  const bool to_weight = id == KernelId::conv_grad_weight;
  if (static_cast<double>(s.input_channels) *
          static_cast<double>(s.output_channels) <
      (to_weight ? kGradWeightsPerPixel : kWeightsPerPixel) *
          static_cast<double>(pixels))
    return false;
  product->dtype = product->rhs_dtype = s.dtype;
  product->result_dtype = s.result_dtype;
  product->transpose_lhs = to_weight;
  product->transpose_rhs = id == KernelId::conv;
  product->m = to_weight ? s.output_channels : pixels;
  product->n = id == KernelId::conv ? s.output_channels : s.input_channels;
  product->k = to_weight              ? pixels
               : id == KernelId::conv ? s.input_channels
                                      : s.output_channels;
  return true;
}

}  // namespace

std::unique_ptr<Kernel> make_conv(KernelId id, const ConvShape& shape,
                                  const Context& context) {
  MatmulShape product;
  if (as_matmul(id, shape, &product)) return make_matmul(product, context);
  if (is_wide_depthwise(id, shape))
    return make_depthwise_grad_weight(shape, context);
  return Builder(id, shape, context).build();
}

}  // namespace mpc::kernels::cpu
