// Reading profiles in tests, and what holds for all of them.

#ifndef MPC_TEST_RUNTIME_PROFILE_CHECKS_H_
#define MPC_TEST_RUNTIME_PROFILE_CHECKS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/runtime/package.h"

namespace mpc::test {

inline void start_profile(const SessionPtr& session, uint64_t timeline = 0,
                          bool resume = false) {
  const mpc_profile_options_t options = {sizeof(options), timeline, resume};
  EXPECT_OK(mpc_session_profile_start(session.get(), &options));
}

inline mpc_profile_info_t profile_info(const SessionPtr& session) {
  mpc_profile_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_profile_info(session.get(), &info));
  return info;
}

inline mpc_profile_record_t profile_record(const SessionPtr& session,
                                           size_t index) {
  mpc_profile_record_t record = {};
  record.struct_size = sizeof(record);
  EXPECT_OK(mpc_session_profile_record(session.get(), index, &record));
  return record;
}

inline std::vector<mpc_profile_record_t> profile_records(
    const SessionPtr& session) {
  std::vector<mpc_profile_record_t> records;
  const mpc_profile_info_t info = profile_info(session);
  for (size_t i = 0; i < info.num_records; ++i)
    records.push_back(profile_record(session, i));
  return records;
}

inline std::vector<mpc_profile_event_t> profile_events(
    const SessionPtr& session) {
  std::vector<mpc_profile_event_t> events(profile_info(session).num_events);
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].struct_size = sizeof(events[i]);
    EXPECT_OK(mpc_session_profile_event(session.get(), i, &events[i]));
  }
  return events;
}

// The times of all records add up to the time of the calls; events of a call
// lie in it, in order, and have the times of the records.
inline void expect_consistent(const SessionPtr& session) {
  const mpc_profile_info_t info = profile_info(session);
  const std::vector<mpc_profile_record_t> records = profile_records(session);
  uint64_t total = 0;
  for (const mpc_profile_record_t& record : records) {
    total += record.total_ns;
    EXPECT_LE(record.min_ns * record.calls, record.total_ns) << record.kernel;
  }
  EXPECT_EQ(total, info.total_ns);
  EXPECT_EQ(records.back().kind, MPC_PROFILE_DISPATCH);
  EXPECT_EQ(records.back().calls, info.calls);
  if (info.num_events == 0 || info.dropped_events > 0) return;
  uint64_t time = 0, in_calls = 0, last = 0;
  std::vector<uint64_t> times(records.size());
  for (const mpc_profile_event_t& event : profile_events(session)) {
    ASSERT_LE(event.begin_ns, event.end_ns);
    const uint64_t duration = event.end_ns - event.begin_ns;
    if (records[event.record].kind == MPC_PROFILE_DISPATCH) {
      EXPECT_GE(event.end_ns, last);
      time += duration;
      continue;
    }
    EXPECT_GE(event.begin_ns, last);
    last = event.end_ns;
    times[event.record] += duration;
    in_calls += duration;
  }
  EXPECT_LE(in_calls, time);
  EXPECT_EQ(time, info.total_ns);
  for (size_t i = 0; i + 1 < records.size(); ++i)
    EXPECT_EQ(times[i], records[i].total_ns) << records[i].kernel;
}

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_PROFILE_CHECKS_H_
