// A number that threads wait for: first in a loop, for some microseconds, then
// asleep. Who changes it wakes those that sleep, and makes no system call if
// none does.

#ifndef MPC_KERNELS_CPU_TEAM_FUTEX_WORD_H_
#define MPC_KERNELS_CPU_TEAM_FUTEX_WORD_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace mpc::kernels {

class FutexWord {
 public:
  using Duration = std::chrono::steady_clock::duration;

  std::atomic<uint32_t> value{0};

  // Returns once done(value) holds; what was written before it did is seen.
  template <typename Done>
  void wait(Duration spin, const Done& done) {
    if (spins(spin, done)) return;
    // Here and in wake() one of both sides sees what the other wrote, as all
    // four accesses have one order.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t now = value.load(std::memory_order_seq_cst);
      if (done(now)) break;
      // Returns at once if the value is another by now.
      syscall(SYS_futex, address(), FUTEX_WAIT_PRIVATE, now, nullptr, nullptr,
              0);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  // After a change of the value that is sequentially consistent, or that a
  // sequentially consistent fence follows.
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) > 0)
      syscall(SYS_futex, address(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
              nullptr, 0);
  }

 private:
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  uint32_t* address() { return reinterpret_cast<uint32_t*>(&value); }

  // The clock is read every so many looks: a look takes some nanoseconds.
  template <typename Done>
  bool spins(Duration limit, const Done& done) {
    constexpr int kLooks = 32;
    std::chrono::steady_clock::time_point start;
    for (bool first = true;; first = false) {
      for (int i = 0; i < kLooks; ++i) {
        if (done(value.load(std::memory_order_acquire))) return true;
        relax();
      }
      const auto now = std::chrono::steady_clock::now();
      if (first) start = now;
      if (now - start >= limit) return false;
    }
  }

  static void relax() {
#if defined(__x86_64__)
    _mm_pause();
#endif
  }

  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_TEAM_FUTEX_WORD_H_
