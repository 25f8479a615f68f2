// How a widened convolution is cut: strips of whole images, and pieces of one
// or more strips.

#ifndef MPC_KERNELS_CPU_WIDENED_IMAGE_STRIPS_H_
#define MPC_KERNELS_CPU_WIDENED_IMAGE_STRIPS_H_

#include "kernels/cpu/widened/widened_call.h"

namespace mpc::kernels::cpu {

class ImageStrips final : public Cutting {
 public:
  // Forward and for gradients of images a piece is a strip. For gradients of
  // weights its strips are added up; each piece has such a sum of its own.
  ImageStrips(KernelId id, const ConvShape& shape, double flops,
              const Context& context);

  int64_t pieces() const { return (batch_ + piece() - 1) / piece(); }
  // Few images: strips follow each other, and the primitives use all threads.
  bool inner_threads() const { return inner_threads_; }
  // Images of the strips; those of the last one, or 0 if it is like the others.
  int64_t strip() const { return strip_; }
  int64_t rest() const { return batch_ % strip_; }
  // Elements of an image that is read, and of one that is written.
  int64_t input_elements(size_t index) const { return inputs_[index]; }
  int64_t result_elements() const { return result_; }
  bool sums() const { return steps_ > 1; }

  int64_t steps(size_t piece) const override;
  // The first step's primitives of a strip and of the rest, then those of later
  // steps.
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
