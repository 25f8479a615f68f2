//===- Threading.cpp - Whether MLIR may start threads ---------------------===//

#include "compiler/Support/Threading.h"

#include "llvm/Support/Threading.h"

#include <future>
#include <system_error>
#include <thread>
#include <vector>

using mlir::MLIRContext;

MLIRContext::Threading mpc::availableThreading() {
  unsigned count = llvm::hardware_concurrency().compute_thread_count();
  std::promise<void> end;
  std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread> threads;
  threads.reserve(count);
  auto threading = MLIRContext::Threading::ENABLED;
  try {
    // All threads live at the same time, as in the pool.
    while (threads.size() < count)
      threads.emplace_back([ended] { ended.wait(); });
  } catch (const std::system_error &) {
    threading = MLIRContext::Threading::DISABLED;
  }
  end.set_value();
  for (std::thread &thread : threads)
    thread.join();
  return threading;
}
