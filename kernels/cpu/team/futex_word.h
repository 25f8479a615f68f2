// A number that threads wait on: first spinning for some microseconds, then
// sleeping. The thread that changes it wakes the sleepers, without a system
// call if there are none.

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

  // Returns once done(value) holds, with acquire semantics.
  template <typename Done>
  void wait(Duration spin, const Done& done) {
    if (spins(spin, done)) return;
    // The two accesses here and the two in wake() have one total order, so at
    // least one side sees the other's write.
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const uint32_t now = value.load(std::memory_order_seq_cst);
      if (done(now)) break;
      // Returns at once if the value has changed.
      syscall(SYS_futex, address(), FUTEX_WAIT_PRIVATE, now, nullptr, nullptr,
              0);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Call it after a change of the value that is sequentially consistent, or
  // that is followed by a sequentially consistent fence.
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) > 0)
      syscall(SYS_futex, address(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
              nullptr, 0);
  }

 private:
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  uint32_t* address() { return reinterpret_cast<uint32_t*>(&value); }

  // Reads the clock only after a number of checks, because a check takes only
  // some nanoseconds.
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
