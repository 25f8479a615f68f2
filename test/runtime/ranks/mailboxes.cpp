#include "test/runtime/ranks/mailboxes.h"

#include <cstring>
#include <thread>

namespace mpc::test {

using runtime::Exchange;
using runtime::Message;

class Mailboxes::Rank : public runtime::Transport {
 public:
  Rank(Mailboxes& all, uint32_t rank) : all_(all), rank_(rank) {}

  uint32_t rank() const override { return rank_; }
  uint32_t size() const override { return all_.size(); }
  bool any_thread() const override { return true; }
  mpc_status_t start(size_t slot, const Message& message) override {
    if (slot >= started_.size()) started_.resize(slot + 1);
    started_[slot] = message;
    if (message.sends) {
      std::lock_guard<std::mutex> lock(all_.mutex_);
      all_.box(rank_, message.peer)
          .emplace_back(message.data, message.data + message.bytes);
    }
    return nullptr;
  }
  mpc_status_t test(size_t slot, bool* out_done) override {
    const Message& message = started_[slot];
    *out_done = true;
    if (message.sends) return nullptr;
    std::lock_guard<std::mutex> lock(all_.mutex_);
    std::deque<Bytes>& box = all_.box(message.peer, rank_);
    *out_done = !box.empty();
    if (box.empty()) return nullptr;
    if (box.front().size() != message.bytes)
      return mpc_status_make(MPC_INTERNAL, "a message has another size");
    std::memcpy(message.data, box.front().data(), message.bytes);
    box.pop_front();
    return nullptr;
  }
  std::string place(uint32_t rank) const override {
    return rank == 1 ? "host-b" : "";
  }
  void abort(const char*) override {}
  void close(bool in_order) override { all_.closed_in_order_ += in_order; }

 private:
  Mailboxes& all_;
  const uint32_t rank_;
  std::vector<Message> started_;
};

std::unique_ptr<runtime::Transport> Mailboxes::transport(uint32_t rank) {
  return std::make_unique<Rank>(*this, rank);
}

void on_ranks(
    uint32_t size,
    const std::function<void(Exchange&, const mpc_communicator_t&)>& body,
    uint32_t timeout_seconds) {
  Mailboxes mailboxes(size);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Exchange exchange(mailboxes.transport(rank), timeout_seconds);
      body(exchange, exchange.communicator());
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace mpc::test
