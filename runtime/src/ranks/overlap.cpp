#include "runtime/src/ranks/overlap.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "runtime/src/ranks/exchange.h"

namespace mpc::runtime {

namespace {

// Small enough to begin early, and large enough for the latency of a network.
constexpr uint64_t kMostBytes = uint64_t{8} << 20;
// From this size on, a bucket does not wait for gradients that are complete
// much later, as those of embeddings are.
constexpr uint64_t kLeastBytes = uint64_t{1} << 20;
constexpr size_t kMuchLater = 8;  // A part of the entry point: an eighth.

// Which bytes of the gradients an instruction accesses.
struct Access {
  uint64_t begin, end;
  size_t instruction;
};

std::vector<Access> find_accesses(const schema::Entry& entry, uint64_t offset,
                                  uint64_t bytes) {
  std::vector<Access> found;
  if (!entry.instructions()) return found;
  size_t number = 0;
  for (const schema::Instruction* instruction : *entry.instructions()) {
    ++number;
    for (const schema::Buffer* buffer : *instruction->operands()) {
      if (buffer->space() != schema::Space::State) continue;
      const uint64_t begin = std::max(buffer->offset(), offset);
      const uint64_t end =
          std::min(buffer->offset() + bytes_of(*buffer), offset + bytes);
      if (begin < end) found.push_back({begin - offset, end - offset, number});
    }
  }
  return found;
}

size_t last_access(const std::vector<Access>& accesses, uint64_t begin,
                   uint64_t end) {
  size_t last = 0;
  for (const Access& access : accesses)
    if (access.begin < end && begin < access.end)
      last = std::max(last, access.instruction);
  return last;
}

uint64_t round_down(uint64_t value) { return value - value % kBucketUnit; }

// Where the gradient that ends at `end` begins, in whole units.
uint64_t part_before(const std::vector<Access>& accesses, uint64_t end) {
  uint64_t begin = 0;
  for (const Access& access : accesses)
    for (uint64_t edge : {access.begin, access.end}) {
      edge = round_down(edge);
      if (edge < end) begin = std::max(begin, edge);
    }
  return begin;
}

}  // namespace

std::vector<Bucket> make_buckets(const schema::Variant& variant,
                                 const std::vector<uint32_t>& entries,
                                 uint32_t own, uint64_t offset,
                                 uint64_t bytes) {
  std::vector<std::vector<Access>> accesses(variant.entries()->size());
  for (uint32_t entry : entries)
    accesses[entry] =
        find_accesses(*variant.entries()->Get(entry), offset, bytes);
  const size_t later =
      variant.entries()->Get(own)->instructions()->size() / kMuchLater;
  std::vector<Bucket> buckets;
  // The backward pass completes gradients from the end.
  uint64_t end = bytes;
  while (end > 0) {
    uint64_t begin = end;
    size_t ready = 0;
    while (begin > 0) {
      const uint64_t next = part_before(accesses[own], begin);
      const size_t part = last_access(accesses[own], next, begin);
      const bool is_apart =
          begin < end && (part > ready + later || ready > part + later);
      if (end - next > kMostBytes || (is_apart && end - begin >= kLeastBytes))
        break;
      begin = next;
      ready = std::max(ready, part);
    }
    // A part of its own, or of one that is too large.
    if (begin == end)
      begin = std::max(part_before(accesses[own], end),
                       end > kMostBytes ? round_down(end - kMostBytes) : 0);
    Bucket bucket = {begin, end, {}};
    for (const std::vector<Access>& of_entry : accesses)
      bucket.ready.push_back(last_access(of_entry, begin, end));
    buckets.push_back(std::move(bucket));
    end = begin;
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [&](const Bucket& a, const Bucket& b) {
                     return a.ready[own] < b.ready[own];
                   });
  return buckets;
}

Overlap::~Overlap() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    state_ = State::kEnd;
  }
  changed_.notify_all();
  thread_.join();
}

bool Overlap::begin(uint32_t entry) {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  std::lock_guard<std::mutex> lock(mutex_);
  ran_ = 0;
  run_has_ended_ = false;
  failed_ = false;
  entry_ = entry;
  status_ = nullptr;
  state_ = State::kBusy;
  changed_.notify_all();
  return true;
}

void Overlap::ran(size_t instructions) {
  ran_ = instructions;
  if (instructions < wanted_) return;
  // With the mutex, so that the thread is not between its test and its wait.
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

mpc_status_t Overlap::finish(bool failed) {
  run_has_ended_ = true;  // The core has nothing else to do.
  std::unique_lock<std::mutex> lock(mutex_);
  failed_ = failed;
  changed_.notify_all();
  changed_.wait(lock, [&] { return state_ == State::kDone; });
  state_ = State::kIdle;
  return std::exchange(status_, nullptr);
}

void Overlap::work() {
  const BackgroundWaits background(run_has_ended_);
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] {
        return state_ == State::kBusy || state_ == State::kEnd;
      });
      if (state_ == State::kEnd) return;
    }
    add_buckets();
    std::lock_guard<std::mutex> lock(mutex_);
    if (state_ == State::kBusy) state_ = State::kDone;
    changed_.notify_all();
  }
}

void Overlap::add_buckets() {
  for (size_t i = 0; i < buckets_.size(); ++i) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      wanted_ = buckets_[i].ready[entry_];
      changed_.wait(lock, [&] {
        return failed_ || state_ == State::kEnd || ran_ >= wanted_;
      });
      wanted_ = SIZE_MAX;
      if (failed_ || state_ == State::kEnd) return;
    }
    if (mpc_status_t status = sum_(i)) {
      std::lock_guard<std::mutex> lock(mutex_);
      status_ = status;
      return;
    }
  }
}

}  // namespace mpc::runtime
