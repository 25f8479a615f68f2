#include "kernels/cuda/depthwise/depthwise_plan.h"

#include <algorithm>
#include <numeric>

namespace mpc::kernels {
namespace {

constexpr int64_t kChannels = 2 * kLanePairs;  // Channels of a block.
constexpr int64_t kSlots = 16;                 // Strips of a block.
constexpr int64_t kPixelBytes = kChannels * sizeof(float);
constexpr int64_t kSharedBytes = 48 << 10;  // What every kernel may use.
// Blocks that keep the 132 multiprocessors of an H100 busy: tiles shrink until
// there are as many. The gradient of the weight has at most as many blocks as
// run at a time, three on each, because each adds a part to the sums.
constexpr int64_t kEnoughBlocks = 264;
constexpr int64_t kMaxWeightBlocks = 396;
constexpr int64_t kMaxBlocks = int64_t{1} << 30;

int64_t round_up_quotient(int64_t a, int64_t b) { return (a + b - 1) / b; }

int32_t narrow(int64_t value) { return static_cast<int32_t>(value); }

// The axis of a convolution, and of its weight's gradient.
DepthwiseAxis forward_axis(const ConvShape& s, int d) {
  const Window& w = s.window;
  return {narrow(s.output[d]),
          narrow(-w.pads_begin[d]),
          narrow(w.strides[d]),
          narrow(w.dilations[d]),
          narrow(w.kernel[d]),
          0,
          1,
          1,
          0};
}

// The gradient at inputs i * stride + phase. Tap k of window o reads input
// o * stride - pad + k * dilation, so only taps for which the stride divides
// phase + pad - k * dilation reach them. They are used in descending order, in
// which the gradients that they read ascend.
DepthwiseAxis backward_axis(const ConvShape& s, int d, int64_t phase) {
  const Window& w = s.window;
  const int64_t stride = w.strides[d], dilation = w.dilations[d];
  const int64_t common = std::gcd(stride, dilation);
  const int64_t tap_step = stride / common, at = phase + w.pads_begin[d];
  DepthwiseAxis axis = {};
  axis.positions = narrow(
      std::max<int64_t>(round_up_quotient(s.input[d] - phase, stride), 0));
  axis.move = 1;
  axis.step = narrow(dilation / common);
  axis.tap_step = narrow(-tap_step);
  axis.stride = narrow(stride);
  axis.phase = narrow(phase);
  for (int64_t tap = 0; tap < std::min(tap_step, w.kernel[d]); ++tap) {
    if ((at - tap * dilation) % stride != 0) continue;
    const int64_t more = (w.kernel[d] - 1 - tap) / tap_step;
    axis.taps = narrow(more + 1);
    axis.tap = narrow(tap + more * tap_step);
    axis.first = narrow((at - axis.tap * dilation) / stride);
  }
  return axis;
}

bool fits(const ConvShape& s) {
  for (int d = 0; d < 2; ++d) {
    const Window& w = s.window;
    if (s.input[d] + w.pads_begin[d] + w.pads_end[d] >= 1 << 30 ||
        w.dilations[d] * w.kernel[d] >= 1 << 30 || w.strides[d] > kMaxPhases)
      return false;
  }
  return s.input_channels < 1 << 30;
}

// Inputs of `positions` adjacent positions.
int64_t reach(const DepthwiseAxis& axis, int64_t positions) {
  return (positions - 1) * axis.move +
         std::max<int64_t>(axis.taps - 1, 0) * axis.step + 1;
}

// Chooses tiles that fit in shared memory, preferably with all rows that the
// threads of a block can compute at the same time.
class Tiling {
 public:
  Tiling(DepthwiseParams* params, int64_t batch, bool is_weight)
      : params_(params), batch_(batch), is_weight_(is_weight) {
    rows_ = params->axes[0][0].positions;
    columns_ = params->axes[1][0].positions;
  }

  bool choose() {
    const int64_t strips = round_up_quotient(columns_, kStripPixels);
    return (strips % 2 == 0 && choose(2)) || choose(1);
  }
  int64_t shared_bytes() const { return bytes(params_->tile[0]); }
  int64_t blocks() const {
    return batch_ * params_->tiles[0] * params_->tiles[1] *
           params_->channel_blocks;
  }

 private:
  // Tiles with this many strips in a row.
  bool choose(int64_t strips) {
    params_->tile[1] = narrow(strips * kStripPixels);
    int64_t rows = std::min(rows_, kSlots / strips);
    while (rows > 0 && bytes(rows) > kSharedBytes) --rows;
    if (rows == 0) return false;
    params_->tiles[1] = narrow(round_up_quotient(columns_, params_->tile[1]));
    divide(rows);
    while (blocks() < kEnoughBlocks && params_->tile[0] > 2)
      divide((params_->tile[0] + 1) / 2);
    return true;
  }
  // Rows of about equal number.
  void divide(int64_t most) {
    params_->tiles[0] = narrow(round_up_quotient(rows_, most));
    params_->tile[0] = narrow(round_up_quotient(rows_, params_->tiles[0]));
  }
  int64_t bytes(int64_t rows) const {
    int64_t most = 0;
    for (const DepthwiseAxis& h : params_->axes[0])
      for (const DepthwiseAxis& w : params_->axes[1]) {
        const int64_t pixels = reach(h, rows) * reach(w, params_->tile[1]);
        const int64_t others =
            is_weight_ ? rows * params_->tile[1] : int64_t{h.taps} * w.taps;
        most = std::max(most, pixels + others);
      }
    return most * kPixelBytes;
  }

  DepthwiseParams* params_;
  int64_t batch_, rows_, columns_;
  bool is_weight_;
};

// The blocks and threads that sum the gradient of the weight.
void divide_sums(int64_t blocks, DepthwisePlan* plan) {
  DepthwiseWeightParams& w = plan->weight;
  const int64_t channel_blocks = w.image.channel_blocks;
  w.count = blocks / channel_blocks;
  const int64_t most = std::max<int64_t>(kMaxWeightBlocks / channel_blocks, 1);
  const int64_t tiles_of_block = round_up_quotient(w.count, most);
  w.chunks = narrow(round_up_quotient(w.count, tiles_of_block));
  w.runs = narrow(round_up_quotient(w.image.kernel[1], kRowTaps));
  const int64_t groups = int64_t{w.image.kernel[0]} * w.runs;
  w.block_groups = narrow(std::min(groups, kSlots));
  w.sharers = narrow(
      std::min<int64_t>(kSlots / w.block_groups,
                        w.image.tile[0] * (w.image.tile[1] / kStripPixels)));
  plan->grid[0] = static_cast<unsigned>(w.chunks * channel_blocks);
  plan->grid[1] =
      static_cast<unsigned>(round_up_quotient(groups, w.block_groups));
  plan->threads =
      static_cast<unsigned>(kLanePairs * w.block_groups * w.sharers);
  plan->parts = int64_t{w.chunks} * w.sharers;
}

}  // namespace

std::optional<DepthwisePlan> plan_depthwise(KernelId id, const ConvShape& s) {
  const bool is_backward = id == KernelId::conv_grad_input,
             is_weight = id == KernelId::conv_grad_weight;
  if (s.group != s.input_channels || s.group != s.output_channels ||
      !(s.channels_last || s.group == 1) || !fits(s))
    return std::nullopt;
  DepthwisePlan plan = {};
  DepthwiseParams& p = plan.weight.image;
  p.channels = narrow(s.group);
  p.channel_blocks = narrow(round_up_quotient(s.group, kChannels));
  p.dtype = s.dtype;
  p.bias_dtype = s.bias_dtype;
  p.result_dtype = s.result_dtype;
  for (int d = 0; d < 2; ++d) {
    const int64_t phases = is_backward ? s.window.strides[d] : 1;
    p.from[d] = narrow(is_backward ? s.output[d] : s.input[d]);
    p.to[d] = narrow(is_backward ? s.input[d] : s.output[d]);
    p.kernel[d] = narrow(s.window.kernel[d]);
    for (int64_t phase = 0; phase < phases; ++phase)
      p.axes[d][phase] =
          is_backward ? backward_axis(s, d, phase) : forward_axis(s, d);
    plan.grid[1 + d] = static_cast<unsigned>(phases);
  }
  Tiling tiling(&p, s.batch, is_weight);
  if (!tiling.choose() || tiling.blocks() > kMaxBlocks) return std::nullopt;
  plan.grid[0] = static_cast<unsigned>(tiling.blocks());
  plan.threads =
      static_cast<unsigned>(kLanePairs * p.tile[0] * p.tile[1] / kStripPixels);
  plan.shared_bytes = static_cast<unsigned>(tiling.shared_bytes());
  if (is_weight) divide_sums(tiling.blocks(), &plan);
  return plan;
}

}  // namespace mpc::kernels
