#include "runtime/src/ranks/exchange.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/src/base/guard.h"

namespace mpc::runtime {

namespace {

using Clock = std::chrono::steady_clock;

// Sums are exchanged in pieces that fit into caches, which also bounds the
// memory for what is received.
constexpr uint64_t kPieceBytes = uint64_t{1} << 21;

// Adds up one block of all ranks in their order. `parts` holds a pointer to the
// numbers of each rank; the result may be one of them.
template <typename T>
void add_ranks(T* result, const std::vector<const T*>& parts, uint64_t count) {
  constexpr uint64_t kBlock = 1024;
  T sums[kBlock];
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    const uint64_t size = std::min(kBlock, count - begin);
    std::copy_n(parts.front() + begin, size, sums);
    for (size_t rank = 1; rank < parts.size(); ++rank)
      for (uint64_t i = 0; i < size; ++i) sums[i] += parts[rank][begin + i];
    std::copy_n(sums, size, result + begin);
  }
}

thread_local bool in_background = false;

// In microseconds. Libraries move some kilobytes each time they are asked, so
// this limits the bandwidth; asking takes about a microsecond.
constexpr unsigned kSleep = 20;

// Waits between two tests of messages: messages of fast ranks are near, those
// of slow ones should not cost this machine a core.
class Pause {
 public:
  void progress() { since_ = Clock::now(); }
  void wait() const {
    if (!in_background && Clock::now() - since_ < std::chrono::milliseconds(5))
      sched_yield();
    else
      usleep(kSleep);
  }

 private:
  Clock::time_point since_ = Clock::now();
};

}  // namespace

BackgroundWaits::BackgroundWaits()
    : timer_slack_(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) {
  in_background = true;
  (void)::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);  // In nanoseconds.
}

BackgroundWaits::~BackgroundWaits() {
  in_background = false;
  (void)::prctl(PR_SET_TIMERSLACK, timer_slack_, 0, 0, 0);
}

mpc_communicator_t Exchange::communicator() {
  mpc_communicator_t made = {};
  made.struct_size = sizeof(made);
  made.user = this;
  made.rank = transport_->rank();
  made.size = transport_->size();
  made.any_thread = transport_->any_thread();
  made.timeout_seconds = timeout_seconds_;
  made.reduce_scatter = [](void* user, void* data, const uint64_t* offsets,
                           mpc_dtype_t dtype) {
    return guard([&] {
      return static_cast<Exchange*>(user)->reduce_scatter(data, offsets, dtype);
    });
  };
  made.all_gather = [](void* user, void* data, const uint64_t* offsets) {
    return guard([&] {
      return static_cast<Exchange*>(user)->all_gather(data, offsets);
    });
  };
  made.abort = [](void* user, const char* reason) {
    static_cast<Exchange*>(user)->transport().abort(reason);
  };
  return made;
}

mpc_status_t Exchange::run(const std::vector<Message>& messages,
                           const char* what) {
  mpc_status_t status = carry(messages, what);
  has_failed_ |= status != nullptr;
  return status;
}

mpc_status_t Exchange::carry(const std::vector<Message>& messages,
                             const char* what) {
  // Receives first: their buffers are then known when data arrives.
  for (bool sends : {false, true})
    for (size_t slot = 0; slot < messages.size(); ++slot)
      if (messages[slot].sends == sends)
        MPC_RETURN_IF_ERROR(transport_->start(slot, messages[slot]));
  const Clock::time_point deadline =
      Clock::now() + std::chrono::seconds(timeout_seconds_);
  std::vector<bool> done(messages.size());
  size_t left = messages.size();
  for (Pause pause; left > 0;) {
    const size_t before = left;
    for (size_t slot = 0; slot < messages.size(); ++slot) {
      if (done[slot]) continue;
      bool is_done = false;
      MPC_RETURN_IF_ERROR(transport_->test(slot, &is_done));
      done[slot] = is_done;
      left -= is_done;
    }
    if (left < before)
      pause.progress();
    else if (Clock::now() > deadline)
      return lost(messages, done, what);
    else
      pause.wait();
  }
  return nullptr;
}

// Names the ranks whose messages have not arrived.
mpc_status_t Exchange::lost(const std::vector<Message>& messages,
                            const std::vector<bool>& done,
                            const char* what) const {
  std::string missing;
  for (bool sends : {false, true}) {
    if (!missing.empty()) break;
    std::vector<uint32_t> peers;
    for (size_t slot = 0; slot < messages.size(); ++slot)
      if (!done[slot] && messages[slot].sends == sends)
        peers.push_back(messages[slot].peer);
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    for (uint32_t peer : peers) {
      const std::string place = transport_->place(peer);
      missing += (missing.empty() ? "" : ", ") + std::string("rank ") +
                 std::to_string(peer) + (place.empty() ? "" : " on " + place);
    }
  }
  return mpc_status_make(
      MPC_RANK_LOST,
      "no answer from %s for %u s, in %s, collective call %llu of rank %u",
      missing.c_str(), timeout_seconds_, what,
      static_cast<unsigned long long>(calls_), transport_->rank());
}

template <typename T>
mpc_status_t Exchange::sum(T* data, const uint64_t* offsets) {
  const uint32_t rank = transport_->rank(), size = transport_->size();
  const uint64_t piece = kPieceBytes / sizeof(T) / size + 1;
  if (!received_.data())
    MPC_RETURN_IF_ERROR(received_.allocate(default_allocator(),
                                           2 * kPieceBytes + size * kAlignment,
                                           "messages of other ranks"));
  T* received = reinterpret_cast<T*>(received_.data());
  uint64_t longest = 0;
  for (uint32_t i = 0; i < size; ++i)
    longest = std::max(longest, offsets[i + 1] - offsets[i]);
  std::vector<Message> messages;
  std::vector<const T*> parts(size);
  for (uint64_t begin = 0; begin < longest; begin += piece) {
    auto piece_of = [&](uint32_t owner) {
      const uint64_t first =
          std::min(offsets[owner] + begin, offsets[owner + 1]);
      return std::pair(first, std::min(piece, offsets[owner + 1] - first));
    };
    const auto [own_first, own_count] = piece_of(rank);
    messages.clear();
    for (uint32_t peer = 0; peer < size; ++peer) {
      parts[peer] = peer == rank ? data + own_first : received + peer * piece;
      if (peer == rank) continue;
      const auto [first, count] = piece_of(peer);
      if (count > 0)
        messages.push_back({peer, true,
                            reinterpret_cast<uint8_t*>(data + first),
                            count * sizeof(T)});
      if (own_count > 0)
        messages.push_back({peer, false,
                            reinterpret_cast<uint8_t*>(received + peer * piece),
                            own_count * sizeof(T)});
    }
    MPC_RETURN_IF_ERROR(run(messages, "reduce_scatter"));
    add_ranks(data + own_first, parts, own_count);
  }
  return nullptr;
}

mpc_status_t Exchange::reduce_scatter(void* data, const uint64_t* offsets,
                                      mpc_dtype_t dtype) {
  ++calls_;
  if (dtype == MPC_DTYPE_F32) return sum(static_cast<float*>(data), offsets);
  if (dtype == MPC_DTYPE_F64) return sum(static_cast<double*>(data), offsets);
  return mpc_status_make(MPC_INVALID_ARGUMENT, "reduce_scatter of %s",
                         mpc_dtype_name(dtype));
}

mpc_status_t Exchange::all_gather(void* data, const uint64_t* offsets) {
  ++calls_;
  const uint32_t rank = transport_->rank(), size = transport_->size();
  uint8_t* const bytes = static_cast<uint8_t*>(data);
  uint64_t longest = 0;
  for (uint32_t i = 0; i < size; ++i)
    longest = std::max(longest, offsets[i + 1] - offsets[i]);
  std::vector<Message> messages;
  for (uint64_t begin = 0; begin < longest; begin += kMaxMessage) {
    messages.clear();
    for (uint32_t peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      for (bool sends : {false, true}) {
        const uint32_t owner = sends ? rank : peer;
        const uint64_t first =
            std::min(offsets[owner] + begin, offsets[owner + 1]);
        const uint64_t count =
            std::min<uint64_t>(kMaxMessage, offsets[owner + 1] - first);
        if (count > 0) messages.push_back({peer, sends, bytes + first, count});
      }
    }
    MPC_RETURN_IF_ERROR(run(messages, "all_gather"));
  }
  return nullptr;
}

void Exchange::close() {
  std::vector<uint8_t> farewells(transport_->size());
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= farewells.size(); ++i) offsets.push_back(i);
  if (!has_failed_)
    mpc_status_free(all_gather(farewells.data(), offsets.data()));
  transport_->close(!has_failed_);
}

}  // namespace mpc::runtime
