// Stacks to run on and the switch between them.

#ifndef MPC_TEST_DEVICE_SIM_FIBER_H_
#define MPC_TEST_DEVICE_SIM_FIBER_H_

#include <cstddef>

#if !defined(__x86_64__) || defined(MPC_DEVICE_SIM_UCONTEXT)
#define MPC_DEVICE_SIM_HAS_UCONTEXT 1
#include <ucontext.h>
#endif

namespace mpc::device_sim {

// A place to switch to: the host's own stack, or one with a guard below that no
// one may touch. Belongs to one host thread.
class Fiber {
 public:
  // Stands for the stack that makes it.
  Fiber() = default;
  // A stack on which entry() begins; it must never return. Up to 12 KiB less
  // are usable.
  Fiber(size_t stack_bytes, void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves the fiber that runs, which is *this, until someone switches back.
  void switch_to(Fiber& to);
  // Forgets what the fiber did; it begins with entry() again. It must not run.
  void reset();

  bool owns_guard(const void* address) const;
  bool owns_stack(const void* address) const;
  // The end of the stack, aligned; the first byte behind it.
  char* stack_top() const { return stack_ + stack_bytes_; }
  // For code that will run on this stack although frames were left on it.
  void unpoison() const;

 private:
  static void begin();
  void arrive();

  void (*entry_)() = nullptr;
  char* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  char* stack_ = nullptr;
  size_t stack_bytes_ = 0;
#ifdef MPC_DEVICE_SIM_HAS_UCONTEXT
  ucontext_t context_{};
#else
  void* stack_pointer_ = nullptr;
#endif
  void* fake_stack_ = nullptr;  // AddressSanitizer's
};

}  // namespace mpc::device_sim

#endif  // MPC_TEST_DEVICE_SIM_FIBER_H_
