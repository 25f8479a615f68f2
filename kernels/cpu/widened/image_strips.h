// How a widened convolution is cut: into strips of whole images, and pieces of
// one or more strips.

#ifndef MPC_KERNELS_CPU_WIDENED_IMAGE_STRIPS_H_
#define MPC_KERNELS_CPU_WIDENED_IMAGE_STRIPS_H_

#include "kernels/cpu/widened/widened_call.h"

namespace mpc::kernels::cpu {

class ImageStrips final : public Cutting {
 public:
  // For forward convolutions and gradients of images a piece is one strip. For
  // gradients of weights each piece has a partial sum, to which its strips are
  // added.
  ImageStrips(KernelId id, const ConvShape& shape, double flops,
              const Context& context);

  int64_t pieces() const { return (batch_ + piece() - 1) / piece(); }
  // If there are few images, strips run one after the other, and the primitives
  // use all threads.
  bool inner_threads() const { return inner_threads_; }
  // The number of images in a strip, and in the last one, or 0 if that is
  // equal.
  int64_t strip() const { return strip_; }
  int64_t rest() const { return batch_ % strip_; }
  // Elements of an input image, and of a result image.
  int64_t input_elements(size_t index) const { return inputs_[index]; }
  int64_t result_elements() const { return result_; }
  bool sums() const { return steps_ > 1; }

  int64_t steps(size_t piece) const override;
  // Primitives are ordered: for a strip and for the rest in the first step,
  // then for both in later steps.
  size_t call(size_t piece, int64_t step) const override;
  Part input(size_t index, size_t piece, int64_t step) const override;
  Part result(size_t piece) const override;

 private:
  void plan_images(int64_t image_bytes, int64_t most, int workers,
                   bool may_share);
  void plan_sums(int64_t image_bytes, int64_t weight_bytes, int64_t most,
                 int workers, bool may_share);
  int64_t piece() const { return strip_ * steps_; }
  int64_t first(size_t piece, int64_t step) const {
    return static_cast<int64_t>(piece) * this->piece() + step * strip_;
  }
  int64_t images(size_t piece, int64_t step) const {
    return std::min(strip_, batch_ - first(piece, step));
  }

  int64_t batch_, strip_ = 1, steps_ = 1;
  bool inner_threads_ = false;
  std::array<int64_t, 2> inputs_;
  int64_t result_;
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_WIDENED_IMAGE_STRIPS_H_
