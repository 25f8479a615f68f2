#include "kernels/cpu/widened/image_strips.h"

namespace mpc::kernels::cpu {
namespace {

// Maximum bytes of f32 images in a strip of several images: the size of a
// core's own cache.
constexpr int64_t kStripBytes = 1 << 20;
// Partial sums of weights per thread pay off as long as they are at most this
// many times larger than the images.
constexpr int64_t kSumsPerImages = 4;

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Whether `count` equal pieces would leave too many threads idle.
bool is_unbalanced(int64_t count, int threads) {
  return static_cast<double>(count) <
         0.8 * static_cast<double>(divide_up(count, threads) * threads);
}

}  // namespace

ImageStrips::ImageStrips(KernelId id, const ConvShape& s, double flops,
                         const Context& context)
    : batch_(s.batch) {
  const int64_t input = s.input_channels * s.input[0] * s.input[1],
                output = s.output_channels * s.output[0] * s.output[1];
  const int64_t weight = s.output_channels * (s.input_channels / s.group) *
                         s.window.kernel[0] * s.window.kernel[1];
  const bool forward = id == KernelId::conv || id == KernelId::conv_bias;
  inputs_ = {forward ? input : output, input};
  result_ = forward ? output : input;
  const int64_t bytes = (input + output) * int64_t{sizeof(float)};
  // In deterministic mode, pieces must not depend on the number of threads.
  const int64_t most =
      context.deterministic ? cut(batch_, 1, flops).size : batch_;
  if (id == KernelId::conv_grad_weight)
    plan_sums(bytes, weight * int64_t{sizeof(float)}, most, context.threads,
              !context.deterministic);
  else
    plan_images(bytes, most, context.threads, !context.deterministic);
}

void ImageStrips::plan_images(int64_t image_bytes, int64_t most, int workers,
                              bool may_share) {
  most = std::clamp<int64_t>(kStripBytes / image_bytes, 1, most);
  int64_t strips = divide_up(batch_, most);
  if (may_share)
    strips = std::min(batch_, divide_up(strips, workers) * workers);
  strip_ = divide_up(batch_, strips);
  inner_threads_ = may_share && is_unbalanced(pieces(), workers);
}

void ImageStrips::plan_sums(int64_t image_bytes, int64_t weight_bytes,
                            int64_t most, int workers, bool may_share) {
  int64_t piece = most;
  if (may_share) {
    piece = divide_up(batch_, workers);
    inner_threads_ =
        is_unbalanced(divide_up(batch_, piece), workers) ||
        weight_bytes * workers > kSumsPerImages * image_bytes * batch_;
    if (inner_threads_) piece = batch_;
  }
  // Each strip reads and writes the sum, so strips must not be small compared
  // with it.
  const int64_t wanted = std::max(kStripBytes, 2 * weight_bytes);
  steps_ = divide_up(piece, std::max<int64_t>(1, wanted / image_bytes));
  strip_ = divide_up(piece, steps_);
  steps_ = divide_up(piece, strip_);
}

int64_t ImageStrips::steps(size_t piece) const {
  return std::min(steps_, divide_up(batch_ - first(piece, 0), strip_));
}

size_t ImageStrips::call(size_t piece, int64_t step) const {
  const size_t kinds = rest() != 0 ? 2 : 1;
  return (step > 0 ? kinds : 0) + (images(piece, step) != strip_);
}

Part ImageStrips::input(size_t index, size_t piece, int64_t step) const {
  return Part::flat(first(piece, step) * inputs_[index],
                    images(piece, step) * inputs_[index]);
}

Part ImageStrips::result(size_t piece) const {
  return Part::flat(first(piece, 0) * result_, images(piece, 0) * result_);
}

}  // namespace mpc::kernels::cpu
