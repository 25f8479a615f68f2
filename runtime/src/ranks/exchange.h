// Collective functions made of messages between pairs of ranks.

#ifndef MPC_RUNTIME_SRC_RANKS_EXCHANGE_H_
#define MPC_RUNTIME_SRC_RANKS_EXCHANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpc/communicator.h"
#include "runtime/src/base/memory.h"

namespace mpc::runtime {

// A message to or from another rank.
struct Message {
  uint32_t peer;
  bool sends;
  uint8_t* data;
  size_t bytes;  // At most kMaxMessage.
};
inline constexpr size_t kMaxMessage = size_t{1} << 26;

// Carries messages. Those between two ranks arrive in the order in which they
// were sent. Functions return MPC_RANK_LOST on errors.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual uint32_t rank() const = 0;
  virtual uint32_t size() const = 0;
  // Whether any thread may use it, one at a time.
  virtual bool any_thread() const = 0;
  // Starts to send or receive message number `slot`; the slot must be free.
  virtual mpc_status_t start(size_t slot, const Message& message) = 0;
  // Whether the message is complete, which frees the slot.
  virtual mpc_status_t test(size_t slot, bool* out_done) = 0;
  // Where a rank runs, for people; "" if that is not known.
  virtual std::string place(uint32_t rank) const = 0;
  virtual void abort(const char* reason) = 0;
  // No messages follow. `in_order`: all ranks are here.
  virtual void close(bool in_order) = 0;
};

// While in scope, the calling thread leaves its core to others when it waits
// for messages, unless `hurries` is set.
class BackgroundWaits {
 public:
  explicit BackgroundWaits(const std::atomic<bool>& hurries);
  ~BackgroundWaits();
  BackgroundWaits(const BackgroundWaits&) = delete;
  BackgroundWaits& operator=(const BackgroundWaits&) = delete;

 private:
  const int timer_slack_;
};

// The functions of a communicator on top of a transport. Each rank sends to all
// others directly, as much as a ring would in total, so that a rank that is
// missing is missed by all, who can name it. Sums are added in the order of the
// ranks.
class Exchange {
 public:
  Exchange(std::unique_ptr<Transport> transport, uint32_t timeout_seconds)
      : transport_(std::move(transport)), timeout_seconds_(timeout_seconds) {}

  Transport& transport() const { return *transport_; }
  // Functions that call those of this object, which must outlive it.
  mpc_communicator_t communicator();

  mpc_status_t reduce_scatter(void* data, const uint64_t* offsets,
                              mpc_dtype_t dtype);
  mpc_status_t all_gather(void* data, const uint64_t* offsets);
  mpc_status_t all_to_all(const void* data, const uint64_t* offsets,
                          void* received);
  // Closes the transport when all ranks do so. If one is gone, for which the
  // transport might wait forever, it is left as it is.
  void close();

 private:
  // Messages that are on their way, in the slots from `first_slot` on.
  struct Flight {
    std::vector<Message> messages;
    std::vector<bool> done = {};
    size_t first_slot = 0;
  };

  template <typename T>
  mpc_status_t sum(T* data, const uint64_t* offsets);
  mpc_status_t run(std::vector<Message> messages, const char* what);
  mpc_status_t start(Flight* flight);
  mpc_status_t finish(Flight* flight, const char* what);
  mpc_status_t note_failure(mpc_status_t status) {
    has_failed_ |= status != nullptr;
    return status;
  }
  mpc_status_t lost(const std::vector<Message>& messages,
                    const std::vector<bool>& done, const char* what) const;

  const std::unique_ptr<Transport> transport_;
  const uint32_t timeout_seconds_;
  uint64_t calls_ = 0;
  bool has_failed_ = false;
  Memory received_;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_EXCHANGE_H_
