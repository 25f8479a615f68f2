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

uint64_t longest_range(const uint64_t* offsets, uint32_t size) {
  uint64_t longest = 0;
  for (uint32_t i = 0; i < size; ++i)
    longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return longest;
}

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

// Not null: the thread waits in the background, until the flag is set.
thread_local const std::atomic<bool>* background_hurries = nullptr;

// In microseconds. Libraries move some kilobytes each time they are asked, so
// sleep limits the bandwidth. Asking takes about ten microseconds of a core
// that computes, and brings other data into its caches.
constexpr unsigned kSleep = 20;
constexpr unsigned kBackgroundSleep = 200;

// Waits between two tests of messages: messages of fast ranks are near, those
// of slow ones should not cost this machine a core.
class Pause {
 public:
  void progress() { since_ = Clock::now(); }
  void wait() const {
    if (background_hurries)
      usleep(*background_hurries ? kSleep : kBackgroundSleep);
    else if (Clock::now() - since_ < std::chrono::milliseconds(5))
      sched_yield();
    else
      usleep(kSleep);
  }

 private:
  Clock::time_point since_ = Clock::now();
};

}  // namespace

BackgroundWaits::BackgroundWaits(const std::atomic<bool>& hurries)
    : timer_slack_(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) {
  background_hurries = &hurries;
  (void)::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);  // In nanoseconds.
}

BackgroundWaits::~BackgroundWaits() {
  background_hurries = nullptr;
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
  made.all_to_all = [](void* user, const void* data, const uint64_t* offsets,
                       void* received) {
    return guard([&] {
      return static_cast<Exchange*>(user)->all_to_all(data, offsets, received);
    });
  };
  made.abort = [](void* user, const char* reason) {
    static_cast<Exchange*>(user)->transport().abort(reason);
  };
  return made;
}

mpc_status_t Exchange::run(std::vector<Message> messages, const char* what) {
  Flight flight = {std::move(messages)};
  MPC_RETURN_IF_ERROR(start(&flight));
  return finish(&flight, what);
}

mpc_status_t Exchange::start(Flight* flight) {
  const std::vector<Message>& messages = flight->messages;
  flight->done.assign(messages.size(), false);
  // Receives first: their buffers are then known when data arrives.
  for (bool sends : {false, true})
    for (size_t i = 0; i < messages.size(); ++i)
      if (messages[i].sends == sends)
        MPC_RETURN_IF_ERROR(note_failure(
            transport_->start(flight->first_slot + i, messages[i])));
  return nullptr;
}

mpc_status_t Exchange::finish(Flight* flight, const char* what) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::seconds(timeout_seconds_);
  std::vector<bool>& done = flight->done;
  size_t left = flight->messages.size();
  for (Pause pause; left > 0;) {
    const size_t before = left;
    for (size_t i = 0; i < flight->messages.size(); ++i) {
      if (done[i]) continue;
      bool is_done = false;
      MPC_RETURN_IF_ERROR(
          note_failure(transport_->test(flight->first_slot + i, &is_done)));
      done[i] = is_done;
      left -= is_done;
    }
    if (left < before)
      pause.progress();
    else if (Clock::now() > deadline)
      return note_failure(lost(flight->messages, done, what));
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
    MPC_RETURN_IF_ERROR(received_.allocate(
        default_allocator(), 2 * (kPieceBytes + size * sizeof(double)),
        "messages of other ranks"));
  const uint64_t longest = longest_range(offsets, size);
  const auto piece_of = [&](uint32_t owner, uint64_t number) {
    const uint64_t first =
        std::min(offsets[owner] + number * piece, offsets[owner + 1]);
    return std::pair(first, std::min(piece, offsets[owner + 1] - first));
  };
  // While one piece is added up, the next one is on its way.
  Flight flights[2];
  const auto received = [&](uint64_t number, uint32_t peer) {
    return reinterpret_cast<T*>(received_.data()) +
           (number % 2 * size + peer) * piece;
  };
  const auto start_piece = [&](uint64_t number) {
    Flight& flight = flights[number % 2];
    flight.first_slot = number % 2 * 2 * size;
    flight.messages.clear();
    const uint64_t own_count = piece_of(rank, number).second;
    for (uint32_t peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      const auto [first, count] = piece_of(peer, number);
      if (count > 0)
        flight.messages.push_back({peer, true,
                                   reinterpret_cast<uint8_t*>(data + first),
                                   count * sizeof(T)});
      if (own_count > 0)
        flight.messages.push_back(
            {peer, false, reinterpret_cast<uint8_t*>(received(number, peer)),
             own_count * sizeof(T)});
    }
    return start(&flight);
  };
  const uint64_t pieces = (longest + piece - 1) / piece;
  if (pieces > 0) MPC_RETURN_IF_ERROR(start_piece(0));
  std::vector<const T*> parts(size);
  for (uint64_t number = 0; number < pieces; ++number) {
    if (number + 1 < pieces) MPC_RETURN_IF_ERROR(start_piece(number + 1));
    MPC_RETURN_IF_ERROR(finish(&flights[number % 2], "reduce_scatter"));
    const auto [first, count] = piece_of(rank, number);
    for (uint32_t peer = 0; peer < size; ++peer)
      parts[peer] = peer == rank ? data + first : received(number, peer);
    add_ranks(data + first, parts, count);
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
  const uint64_t longest = longest_range(offsets, size);
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

mpc_status_t Exchange::all_to_all(const void* data, const uint64_t* offsets,
                                  void* received) {
  ++calls_;
  const uint32_t rank = transport_->rank(), size = transport_->size();
  // Messages that are sent are only read.
  uint8_t* const sent = static_cast<uint8_t*>(const_cast<void*>(data));
  uint8_t* const own = static_cast<uint8_t*>(received);
  const uint64_t own_bytes = offsets[rank + 1] - offsets[rank];
  const uint64_t longest = longest_range(offsets, size);
  std::vector<Message> messages;
  for (uint64_t begin = 0; begin < longest; begin += kMaxMessage) {
    messages.clear();
    const auto add = [&](uint32_t peer, bool sends, uint8_t* range,
                         uint64_t bytes) {
      if (begin < bytes)
        messages.push_back({peer, sends, range + begin,
                            std::min<uint64_t>(kMaxMessage, bytes - begin)});
    };
    for (uint32_t peer = 0; peer < size; ++peer) {
      if (peer == rank) continue;
      add(peer, true, sent + offsets[peer], offsets[peer + 1] - offsets[peer]);
      add(peer, false, own + peer * own_bytes, own_bytes);
    }
    MPC_RETURN_IF_ERROR(run(messages, "all_to_all"));
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
