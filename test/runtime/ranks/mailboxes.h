// Ranks that are threads of this process.
#ifndef MPC_TEST_RUNTIME_RANKS_MAILBOXES_H_
#define MPC_TEST_RUNTIME_RANKS_MAILBOXES_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/src/ranks/exchange.h"

namespace mpc::test {

// Carries the messages of `size` ranks.
class Mailboxes {
 public:
  explicit Mailboxes(uint32_t size) : size_(size), boxes_(size * size) {}

  uint32_t size() const { return size_; }
  std::unique_ptr<runtime::Transport> transport(uint32_t rank);
  // How many ranks were closed when all others were there.
  int closed_in_order() const { return closed_in_order_; }

 private:
  class Rank;

  using Bytes = std::vector<uint8_t>;
  std::deque<Bytes>& box(uint32_t from, uint32_t to) {
    return boxes_[from * size_ + to];
  }

  const uint32_t size_;
  std::mutex mutex_;
  std::atomic<int> closed_in_order_{0};
  std::vector<std::deque<Bytes>> boxes_;
};

// Calls `body` for each rank on a thread of its own.
void on_ranks(
    uint32_t size,
    const std::function<void(runtime::Exchange& exchange,
                             const mpc_communicator_t& communicator)>& body,
    uint32_t timeout_seconds = 60);

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_RANKS_MAILBOXES_H_
