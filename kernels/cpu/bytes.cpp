// copy and zero: the C library's functions, on several threads if one cannot
// use the full memory bandwidth.

#include <cstring>

#include "kernels/cpu/cpu.h"

namespace mpc::kernels::cpu {
namespace {

constexpr double kBytesPerThread = 1 << 20;

class BytesKernel final : public Kernel {
 public:
  BytesKernel(bool copy, size_t bytes, int threads)
      : copy_(copy), bytes_(bytes), threads_(threads) {}

  std::string implementation() const override {
    return copy_ ? "memcpy" : "memset";
  }
  bool run(void* const* operands, void*) const override {
    if (threads_ == 1) {
      move(operands, 0, bytes_);
      return true;
    }
    // Whole cache lines for each thread.
    const size_t chunk = (bytes_ / threads_ + 63) / 64 * 64;
    parallel(threads_, [&](int part, int parts) {
      for (int i = part; i < threads_; i += parts) {
        const size_t begin = std::min(bytes_, i * chunk);
        move(operands, begin, std::min(chunk, bytes_ - begin));
      }
    });
    return true;
  }

 private:
  void move(void* const* operands, size_t begin, size_t count) const {
    char* to = static_cast<char*>(operands[copy_ ? 1 : 0]) + begin;
    if (copy_)
      std::memcpy(to, static_cast<const char*>(operands[0]) + begin, count);
    else
      std::memset(to, 0, count);
  }

  bool copy_;
  size_t bytes_;
  int threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_bytes(KernelId id, size_t bytes,
                                   const Context& context) {
  return std::make_unique<BytesKernel>(
      id == KernelId::copy, bytes,
      threads_for(static_cast<double>(bytes), kBytesPerThread,
                  context.threads));
}

}  // namespace mpc::kernels::cpu
