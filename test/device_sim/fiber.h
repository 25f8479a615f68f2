// Stacks, and switching between them.

#ifndef MPC_TEST_DEVICE_SIM_FIBER_H_
#define MPC_TEST_DEVICE_SIM_FIBER_H_

#include <cstddef>

#if !defined(__x86_64__) || defined(MPC_DEVICE_SIM_UCONTEXT)
#define MPC_DEVICE_SIM_HAS_UCONTEXT 1
#include <ucontext.h>
#endif

namespace mpc::device_sim {

// A stack to switch to: the host's own, or a new one with an inaccessible guard
// below it. Belongs to one host thread.
class Fiber {
 public:
  // Represents the current stack.
  Fiber() = default;
  // A stack on which entry() starts; entry() must never return. Up to 12 KiB of
  // the stack are not usable.
  Fiber(size_t stack_bytes, void (*entry)());
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves the running fiber, which must be *this, until a switch back to it.
  void switch_to(Fiber& to);
  // Resets the fiber, which must not be running; it starts with entry() again.
  void reset();

  bool owns_guard(const void* address) const;
  bool owns_stack(const void* address) const;
  // The aligned end of the stack: the first byte after it.
  char* stack_top() const { return stack_ + stack_bytes_; }
  // Prepares the stack for new code if it still has abandoned frames.
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
