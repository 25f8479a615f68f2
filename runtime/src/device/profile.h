// The time of every instruction of a session, which its device measures.

#ifndef MPC_RUNTIME_SRC_DEVICE_PROFILE_H_
#define MPC_RUNTIME_SRC_DEVICE_PROFILE_H_

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mpc/profile.h"

namespace mpc::runtime {

// Nanoseconds of a clock that never goes back.
inline uint64_t now_ns() {
  timespec time;
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u +
         static_cast<uint64_t>(time.tv_nsec);
}

class Profile {
 public:
  struct Record {
    mpc_profile_kind_t kind;
    std::string entry, instruction, kernel, implementation;
    mpc_dtype_t dtype;
    uint64_t bytes, flops;
  };
  struct Count {
    uint64_t calls = 0, total = 0, least = UINT64_MAX;
  };
  struct Event {
    size_t record;
    uint64_t begin, end;
  };

  // `records` has the instructions of all entry points, end to end, then the
  // copies of inputs and the rest of a call; `first_of_entry` is where each
  // entry point begins. Keeps the latest `timeline_calls` calls one by one.
  // Throws std::bad_alloc; no other function allocates.
  Profile(std::vector<Record> records, std::vector<size_t> first_of_entry,
          uint64_t timeline_calls)
      : records_(std::move(records)),
        first_of_entry_(std::move(first_of_entry)),
        counts_(records_.size()),
        origin_(now_ns()) {
    uint64_t capacity;
    if (__builtin_mul_overflow(timeline_calls, records_.size(), &capacity) ||
        capacity > events_.max_size())
      throw std::bad_alloc();
    events_.resize(capacity);
  }

  size_t record_of(uint32_t entry, size_t instruction) const {
    return first_of_entry_[entry] + instruction;
  }
  size_t inputs_record() const { return records_.size() - 2; }
  size_t dispatch_record() const { return records_.size() - 1; }

  // Times are those of now_ns().
  void begin_call(uint64_t begin) {
    call_begin_ = begin;
    in_call_ = 0;
  }
  void add(size_t record, uint64_t begin, uint64_t end) {
    const uint64_t time = end - begin;
    count(record, time);
    in_call_ += time;
    keep(record, begin, end);
  }
  // What was not added since begin_call() is dispatch.
  void end_call(uint64_t end) {
    const uint64_t time = end - call_begin_;
    count(dispatch_record(), time - std::min(time, in_call_));
    keep(dispatch_record(), call_begin_, end);
  }

  const std::vector<Record>& records() const { return records_; }
  const Count& count_of(size_t record) const { return counts_[record]; }
  bool has_timeline() const { return !events_.empty(); }
  size_t num_events() const {
    return static_cast<size_t>(std::min<uint64_t>(num_added_, events_.size()));
  }
  uint64_t num_dropped() const { return num_added_ - num_events(); }
  // Event `index`, the oldest first.
  const Event& event(size_t index) const {
    const uint64_t place = num_dropped() + index;
    return events_[static_cast<size_t>(place % events_.size())];
  }

 private:
  void count(size_t record, uint64_t time) {
    Count& count = counts_[record];
    ++count.calls;
    count.total += time;
    count.least = std::min(count.least, time);
  }
  void keep(size_t record, uint64_t begin, uint64_t end) {
    if (events_.empty()) return;
    events_[next_] = {record, begin - origin_, end - origin_};
    if (++next_ == events_.size()) next_ = 0;
    ++num_added_;
  }

  const std::vector<Record> records_;
  const std::vector<size_t> first_of_entry_;
  std::vector<Count> counts_;
  std::vector<Event> events_;  // A ring buffer.
  size_t next_ = 0;
  uint64_t num_added_ = 0;
  const uint64_t origin_;
  uint64_t call_begin_ = 0;
  uint64_t in_call_ = 0;  // Time of the current call that was added.
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_PROFILE_H_
