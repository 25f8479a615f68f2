// Products followed by a bias, GELU or its derivative. On some devices the
// library takes longer for both than two kernels take. This has not been run on
// hardware, so a trial also compares the results; builds without nvcc have none
// to compare with.

#include "kernels/cuda/cublaslt/epilogue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/cuda/autotune_buffers.h"
#include "kernels/cuda/driver/device_images.h"
#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/shared.h"
#include "kernels/float_types.h"

namespace mpc::kernels {
namespace {

// Elements at either end of a result that are compared.
constexpr size_t kCompared = 1 << 16;
// Differences that roundings of product, argument and result explain where
// products are about 1, relative to 1 and to the result.
constexpr double kTolerance = 0x1p-5;
// Arguments at which a formula could overflow, in every type of 16 bits.
constexpr float kExtremes[] = {0, -0.0f, 30, -30, 1e4f, -1e4f, 6e4f, -6e4f};

// A kernel of epilogues.cu: the beginning of its name, and what it computes.
struct OwnKernel {
  const char *name, *what;
};

OwnKernel own_kernel(Epilogue epilogue) {
  if (epilogue == Epilogue::kBias) return {"mpc_bias_", "the bias"};
  if (epilogue == Epilogue::kGelu) return {"mpc_gelu_", "GELU"};
  return {"mpc_gelu_grad_", "GELU"};
}

// The product, and then a kernel of ours on its result in place.
class TwoKernels final : public CudaKernel {
 public:
  TwoKernels(const CudaContext& context, const MatmulShape& shape,
             std::unique_ptr<CudaKernel> product, cuda::CUfunction function)
      : context_(context),
        product_(std::move(product)),
        function_(function),
        epilogue_(shape.epilogue),
        count_(shape.m * shape.n),
        columns_(shape.n) {}

  std::string implementation() const override {
    return product_->implementation() + ", then a kernel for " +
           own_kernel(epilogue_).what;
  }
  size_t workspace_bytes() const override {
    return product_->workspace_bytes();
  }
  std::string enqueue(const cuda::CUdeviceptr* operands,
                      cuda::CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    // bias, result; bias, result, argument; or argument, result.
    const bool is_gelu = epilogue_ == Epilogue::kGelu;
    cuda::CUdeviceptr second = operands[2], result = operands[3],
                      argument = is_gelu ? operands[4] : second;
    const cuda::CUdeviceptr product[] = {operands[0], operands[1],
                                         is_gelu ? argument : result};
    std::string error = product_->enqueue(product, workspace, stream);
    if (!error.empty()) return error;
    int64_t count = count_, columns = columns_;
    void* bias[] = {&second, &result, &count, &columns};
    void* gelu[] = {&second, &argument, &result, &count, &columns};
    void* gelu_grad[] = {&argument, &result, &count};
    return launch(*context_.driver, function_, count / 8, stream,
                  is_gelu               ? gelu
                  : has_bias(epilogue_) ? bias
                                        : gelu_grad);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  const std::unique_ptr<CudaKernel> product_;
  const cuda::CUfunction function_;
  const Epilogue epilogue_;
  const int64_t count_, columns_;
};

std::unique_ptr<CudaKernel> make_two_kernels(const MatmulShape& shape,
                                             const CudaContext& context,
                                             std::string* error) {
  const std::string name = std::string(own_kernel(shape.epilogue).name) +
                           mpc_dtype_name(shape.dtype);
  const cuda::CUfunction function =
      context.shared->function(context, name.c_str(), error);
  if (!function) return nullptr;
  MatmulShape plain = shape;
  plain.epilogue = Epilogue::kNone;
  auto product = make_cublaslt_matmul(plain, context, error);
  if (!product) return nullptr;
  return std::make_unique<TwoKernels>(context, shape, std::move(product),
                                      function);
}

float value_of(uint16_t bits, mpc_dtype_t dtype) {
  if (dtype == MPC_DTYPE_F16) {
    F16 value;
    value.bits = bits;
    return static_cast<float>(value);
  }
  Bf16 value;
  value.bits = bits;
  return static_cast<float>(value);
}

uint16_t bits_of(float value, mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_F16 ? F16(value).bits : Bf16(value).bits;
}

// A trial of both implementations with the same operands.
class Trial {
 public:
  Trial(const CudaContext& context, const MatmulShape& shape)
      : context_(context), shape_(shape), operands_(autotune_operands(shape)) {}

  // Returns what failed, or "".
  std::string begin(size_t workspace_bytes) {
    std::string error;
    buffers_ = AutotuneBuffers::make(context_, operands_, workspace_bytes, true,
                                     &error);
    if (error.empty()) error = scale_factor();
    return error.empty() ? write_extremes() : error;
  }
  // Sets `*same` to whether both give the same results, except for roundings.
  std::string compare(const CudaKernel& one, const CudaKernel& other,
                      bool* same) {
    std::vector<uint16_t> of_one, of_other;
    std::string error = results_of(one, &of_one);
    if (error.empty()) error = results_of(other, &of_other);
    if (error.empty()) *same = are_close(of_one, of_other);
    return error;
  }
  std::string time(const CudaKernel& kernel, double best,
                   double* microseconds) {
    bool fatal;
    return buffers_->time(
        [&](cuda::CUstream stream) {
          return kernel.enqueue(buffers_->operands(), buffers_->workspace(),
                                stream);
        },
        best, microseconds, &fatal);
  }

 private:
  // Makes products about 1: much larger ones would hide which function was
  // applied to them.
  std::string scale_factor() {
    std::vector<uint16_t> values(kCompared);
    const float scale = 3 / std::sqrt(static_cast<float>(shape_.k));
    uint32_t state = 1;
    for (uint16_t& bits : values) {
      state = state * 1664525 + 1013904223;
      bits = bits_of(scale * (static_cast<float>(state >> 8) * 0x1p-23f - 1),
                     shape_.dtype);
    }
    const size_t count = static_cast<size_t>(shape_.m * shape_.k);
    for (size_t first = 0; first < count; first += values.size()) {
      std::string error = write(0, first, values.data(),
                                std::min(values.size(), count - first));
      if (!error.empty()) return error;
    }
    return "";
  }
  // The first elements of the argument, or of the bias that is added to it.
  std::string write_extremes() {
    std::vector<uint16_t> bits;
    for (float extreme : kExtremes)
      bits.push_back(bits_of(extreme, shape_.dtype));
    return write(2, 0, bits.data(), bits.size());
  }
  // Copies elements to an operand, from memory that may then change.
  std::string write(size_t operand, size_t first, const uint16_t* from,
                    size_t count) {
    std::string error =
        check("cuMemcpyHtoDAsync_v2",
              context_.driver->cuMemcpyHtoDAsync_v2(
                  buffers_->operands()[operand] + first * sizeof(uint16_t),
                  from, count * sizeof(uint16_t), context_.stream));
    const std::string waited = wait();
    return error.empty() ? waited : error;
  }
  std::string wait() const {
    return check("cuStreamSynchronize",
                 context_.driver->cuStreamSynchronize(context_.stream));
  }
  std::string results_of(const CudaKernel& kernel,
                         std::vector<uint16_t>* results) {
    const size_t count = static_cast<size_t>(shape_.m * shape_.n),
                 part = std::min(count, kCompared);
    // What the kernel does not write stays NaN.
    std::string error;
    for (size_t i = 3; i < operands_.size() && error.empty(); ++i)
      error = check("cuMemsetD8Async",
                    context_.driver->cuMemsetD8Async(
                        buffers_->operands()[i], 0xff, count * sizeof(uint16_t),
                        context_.stream));
    if (error.empty())
      error = buffers_->warm_up([&](cuda::CUstream stream) {
        return kernel.enqueue(buffers_->operands(), buffers_->workspace(),
                              stream);
      });
    results->resize(2 * part * (operands_.size() - 3));
    uint16_t* to = results->data();
    for (size_t i = 3; i < operands_.size(); ++i)
      for (size_t first : {size_t{0}, count - part}) {
        if (error.empty())
          error =
              check("cuMemcpyDtoHAsync_v2",
                    context_.driver->cuMemcpyDtoHAsync_v2(
                        to, buffers_->operands()[i] + first * sizeof(uint16_t),
                        part * sizeof(uint16_t), context_.stream));
        to += part;
      }
    // Also after an error: copies to `results` may be under way.
    const std::string waited = wait();
    return error.empty() ? waited : error;
  }
  bool are_close(const std::vector<uint16_t>& of_one,
                 const std::vector<uint16_t>& of_other) const {
    for (size_t i = 0; i < of_one.size(); ++i) {
      const double a = value_of(of_one[i], shape_.dtype),
                   b = value_of(of_other[i], shape_.dtype);
      if (a == b) continue;  // Also infinities, in f16.
      if (!(std::abs(a - b) <= kTolerance * (std::abs(a) + 1))) return false;
    }
    return true;
  }
  std::string check(const char* call, cuda::CUresult result) const {
    if (result == cuda::CUDA_SUCCESS) return "";
    return cuda::describe_error(*context_.driver, call, result);
  }

  const CudaContext& context_;
  const MatmulShape& shape_;
  const std::vector<TensorDesc> operands_;
  std::unique_ptr<AutotuneBuffers> buffers_;
};

// The better of both, which work. Without memory for a trial, ours.
std::unique_ptr<CudaKernel> choose(const MatmulShape& shape,
                                   const CudaContext& context,
                                   std::unique_ptr<CudaKernel> ours,
                                   std::unique_ptr<CudaKernel> theirs) {
  // Without a trial, which needs memory, bits must not depend on it.
  if (context.deterministic) return ours;
  Trial trial(context, shape);
  bool same = false;
  if (!trial.begin(std::max(ours->workspace_bytes(), theirs->workspace_bytes()))
           .empty() ||
      !trial.compare(*ours, *theirs, &same).empty() || !same)
    return ours;
  double of_ours, of_theirs;
  if (!trial.time(*ours, std::numeric_limits<double>::infinity(), &of_ours)
           .empty() ||
      !trial.time(*theirs, of_ours, &of_theirs).empty() || of_theirs > of_ours)
    return ours;
  return theirs;
}

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_epilogue(const MatmulShape& shape,
                                               const CudaContext& context,
                                               std::string* error) {
  if (shape.n % 8 != 0) {
    *error = std::string(own_kernel(shape.epilogue).what) +
             " needs a multiple of 8 columns, found " + std::to_string(shape.n);
    return nullptr;
  }
  // Without nvcc, a build has no kernels of ours.
  if (device_images().empty())
    return make_cublaslt_matmul(shape, context, error);
  auto ours = make_two_kernels(shape, context, error);
  if (!ours) return nullptr;
  std::string unavailable;
  auto theirs = make_cublaslt_matmul(shape, context, &unavailable);
  if (!theirs) return ours;
  return choose(shape, context, std::move(ours), std::move(theirs));
}

}  // namespace mpc::kernels
