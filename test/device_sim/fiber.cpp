#include "test/device_sim/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "test/device_sim/asan.h"

#if MPC_DEVICE_SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef MPC_DEVICE_SIM_HAS_UCONTEXT
// Saves the callee-saved registers on the current stack, stores the stack
// pointer, and restores the same from the other stack. Rounding modes are not
// switched.
asm(R"(
  .text
  .p2align 4
  .hidden mpc_sim_switch_stacks
  .globl mpc_sim_switch_stacks
  .type mpc_sim_switch_stacks, @function
mpc_sim_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size mpc_sim_switch_stacks, . - mpc_sim_switch_stacks
)");
extern "C" void mpc_sim_switch_stacks(void** from, void* to);
#endif

namespace mpc::device_sim {
namespace {

// Larger than a page, so that a large frame does not skip it.
constexpr size_t kGuardBytes = 64 << 10;

// Stacks begin at different cache lines: if all had the same page offset, a
// thousand stacks would compete for a few cache sets.
constexpr size_t kColours = 64;
constexpr size_t kColourBytes = 192;
thread_local size_t stacks_made = 0;

// The fiber that was left and the one that runs, set by each switch.
thread_local Fiber* left = nullptr;
thread_local Fiber* running = nullptr;

}  // namespace

Fiber::Fiber(size_t stack_bytes, void (*entry)())
    : entry_(entry),
      mapping_bytes_(kGuardBytes + stack_bytes),
      stack_bytes_(stack_bytes - stacks_made++ % kColours * kColourBytes) {
  void* mapping = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<char*>(mapping);
  stack_ = mapping_ + kGuardBytes;
  if (mprotect(mapping_, kGuardBytes, PROT_NONE) != 0) {
    munmap(mapping_, mapping_bytes_);
    throw std::bad_alloc();
  }
  reset();
}

Fiber::~Fiber() {
  if (mapping_ == nullptr) return;
  unpoison();
  munmap(mapping_, mapping_bytes_);
}

void Fiber::reset() {
  unpoison();
  fake_stack_ = nullptr;
#ifdef MPC_DEVICE_SIM_HAS_UCONTEXT
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack_;
  context_.uc_stack.ss_size = stack_bytes_;
  context_.uc_link = nullptr;
  makecontext(&context_, begin, 0);
#else
  // Six registers, the target address, and a return address of 0 that ends
  // backtraces.
  void* frame[8] = {};
  frame[6] = reinterpret_cast<void*>(&Fiber::begin);
  stack_pointer_ = stack_top() - sizeof frame;
  std::memcpy(stack_pointer_, frame, sizeof frame);
#endif
}

bool Fiber::owns_guard(const void* address) const {
  const char* byte = static_cast<const char*>(address);
  return mapping_ != nullptr && byte >= mapping_ && byte < stack_;
}

bool Fiber::owns_stack(const void* address) const {
  const char* byte = static_cast<const char*>(address);
  return mapping_ != nullptr && byte >= stack_ && byte < stack_top();
}

void Fiber::unpoison() const {
#if MPC_DEVICE_SIM_ASAN
  __asan_unpoison_memory_region(stack_, stack_bytes_);
#endif
}

void Fiber::switch_to(Fiber& to) {
  left = this;
  running = &to;
#if MPC_DEVICE_SIM_ASAN
  __sanitizer_start_switch_fiber(&fake_stack_, to.stack_, to.stack_bytes_);
#endif
#ifdef MPC_DEVICE_SIM_HAS_UCONTEXT
  swapcontext(&context_, &to.context_);
#else
  mpc_sim_switch_stacks(&stack_pointer_, to.stack_pointer_);
#endif
  arrive();
}

// Runs on the new stack, before anything else.
void Fiber::arrive() {
#if MPC_DEVICE_SIM_ASAN
  const void* bottom;
  size_t bytes;
  __sanitizer_finish_switch_fiber(fake_stack_, &bottom, &bytes);
  // The bounds of the host's stack are known only after it has been left.
  if (left->mapping_ == nullptr) {
    left->stack_ = static_cast<char*>(const_cast<void*>(bottom));
    left->stack_bytes_ = bytes;
  }
#endif
}

void Fiber::begin() {
  running->arrive();
  running->entry_();
}

}  // namespace mpc::device_sim
