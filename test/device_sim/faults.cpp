// Device code that accesses the guard below its stack, or unmapped memory, gets
// SIGSEGV. The handler, which has its own stack, makes the fiber continue in a
// function that ends the launch.

#include <csignal>
#include <cstdio>
#include <memory>
#include <mutex>

#include "test/device_sim/asan.h"
#include "test/device_sim/block.h"

namespace mpc::device_sim {
namespace {

constexpr size_t kHandlerStackBytes = 64 << 10;

// Launches may run on several host threads; the first installs the handler, and
// the last restores the old one.
std::mutex handler_mutex;
int handler_users = 0;
struct sigaction before_handler;

thread_local const void* fault_address;

[[noreturn]] void report_overflow() {
  current_block->set_error_here("its stack overflows");
  current_block->stop();
}

[[noreturn]] void report_fault() {
  char address[32];
  std::snprintf(address, sizeof address, "%p", fault_address);
  current_block->set_error_here(std::string("access to the address ") +
                                address + ", which is not memory");
  current_block->stop();
}

#ifdef __x86_64__
// The function in which the fiber continues, or null if device code did not
// cause the fault. AddressSanitizer reports more about a bad address than we
// can.
void (*report_of(const Fiber& fiber, const void* address,
                 const void* stack_pointer))() {
  if (fiber.owns_guard(address)) return report_overflow;
  if (MPC_DEVICE_SIM_ASAN || !fiber.owns_stack(stack_pointer)) return nullptr;
  fault_address = address;
  return report_fault;
}
#endif

void handle(int signal, siginfo_t* info, void* context) {
#ifdef __x86_64__
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (current_block && current_block->running_fiber()) {
    const Fiber& fiber = *current_block->running_fiber();
    const auto* stack = reinterpret_cast<const void*>(registers[REG_RSP]);
    if (auto* report = report_of(fiber, info->si_addr, stack)) {
      // The contents of that stack are not needed any more. At the entry of a
      // function the stack pointer is 8 bytes below an aligned address.
      fiber.unpoison();
      registers[REG_RSP] = reinterpret_cast<greg_t>(fiber.stack_top()) - 8;
      registers[REG_RIP] = reinterpret_cast<greg_t>(report);
      return;
    }
  }
#else
  (void)info;
  (void)context;
#endif
  // Not our fault: it will occur again, with the previous handler.
  sigaction(signal, &before_handler, nullptr);
}

}  // namespace

struct FaultGuard::Saved {
  stack_t stack;
  std::unique_ptr<char[]> memory;
};

FaultGuard::FaultGuard() : saved_(std::make_unique<Saved>()) {
  saved_->memory.reset(new char[kHandlerStackBytes]);
  stack_t stack = {};
  stack.ss_sp = saved_->memory.get();
  stack.ss_size = kHandlerStackBytes;
  sigaltstack(&stack, &saved_->stack);
  const std::lock_guard<std::mutex> lock(handler_mutex);
  if (handler_users++ > 0) return;
  struct sigaction action = {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &before_handler);
}

FaultGuard::~FaultGuard() {
  sigaltstack(&saved_->stack, nullptr);
  const std::lock_guard<std::mutex> lock(handler_mutex);
  if (--handler_users == 0) sigaction(SIGSEGV, &before_handler, nullptr);
}

}  // namespace mpc::device_sim
