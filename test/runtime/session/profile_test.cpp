// Profiles of sessions on the CPU.

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "runtime/src/base/json.h"
#include "test/runtime/package.h"
#include "test/runtime/profile_checks.h"
#include "test/runtime/session/try_step.h"

namespace mpc::test {
namespace {

const mpc_profile_record_t* find(
    const std::vector<mpc_profile_record_t>& records, const char* entry,
    const char* kernel) {
  for (const mpc_profile_record_t& record : records)
    if (!std::strcmp(record.entry, entry) &&
        !std::strcmp(record.kernel, kernel))
      return &record;
  ADD_FAILURE() << "no record " << entry << " " << kernel;
  return nullptr;
}

TEST(Profile, MeasuresEveryInstruction) {
  for (uint32_t threads : {1u, 2u}) {
    ProgramPtr program = load(make_package());
    SessionPtr session = create(program, threads);
    (void)step(session, 1);
    start_profile(session, 10);
    for (int i = 0; i < 3; ++i) (void)step(session, 1);
    EXPECT_OK(mpc_session_profile_stop(session.get()));
    (void)step(session, 1);  // Not measured.
    EXPECT_EQ(profile_info(session).calls, 3u);
    EXPECT_EQ(profile_info(session).dropped_events, 0u);
    expect_consistent(session);
    const auto records = profile_records(session);
    const auto* gradient = find(records, "step", "test_gradient");
    EXPECT_EQ(gradient->kind, MPC_PROFILE_GENERATED);
    EXPECT_STREQ(gradient->instruction, "test_gradient (node)");
    EXPECT_STREQ(gradient->implementation, "");
    EXPECT_EQ(gradient->dtype, MPC_DTYPE_F32);
    EXPECT_EQ(gradient->calls, 3u);
    EXPECT_GT(gradient->bytes, 0u);
    EXPECT_EQ(gradient->flops, 0u);
    EXPECT_EQ(find(records, "", "inputs")->calls, 3u);
    // `predict` is x @ w, and has not run.
    const auto* product = find(records, "predict", "matmul");
    EXPECT_EQ(product->kind, MPC_PROFILE_KERNEL);
    EXPECT_STRNE(product->implementation, "");
    EXPECT_EQ(product->calls, 0u);
    EXPECT_EQ(product->min_ns, 0u);
    EXPECT_EQ(product->flops, 2u * 4 * 4 * 2);
    EXPECT_EQ(product->bytes, (16 + 8 + 8) * 4u);
  }
}

TEST(Profile, ChangesNoResult) {
  ProgramPtr program = load(make_package());
  SessionPtr plain = create(program), profiled = create(program);
  start_profile(profiled, 2);
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(step(plain, 1).loss, step(profiled, 1).loss);
  EXPECT_OK(mpc_session_profile_stop(profiled.get()));
  EXPECT_EQ(all_states(program, plain), all_states(program, profiled));
}

TEST(Profile, MeasuresMicroBatchesAndUpdates) {
  PackageOptions options;
  options.accumulate = 3;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  start_profile(session, 6);
  for (int i = 0; i < 6; ++i) (void)step(session, 1);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  expect_consistent(session);
  const auto records = profile_records(session);
  EXPECT_EQ(find(records, "accumulate", "test_gradient")->calls, 6u);
  EXPECT_EQ(find(records, "apply", "test_update")->calls, 2u);
}

TEST(Profile, MeasuresEvaluations) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  start_profile(session);
  Batch batch(1);
  mpc_metrics_t metrics = {};
  metrics.struct_size = sizeof(metrics);
  EXPECT_OK(mpc_session_evaluate(session.get(), batch.tensors, 2, 4, &metrics));
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  expect_consistent(session);
  const auto records = profile_records(session);
  EXPECT_EQ(find(records, "evaluate", "test_evaluate")->calls, 1u);
  EXPECT_EQ(find(records, "step", "test_gradient")->calls, 0u);
}

TEST(Profile, KeepsTheLatestCalls) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  start_profile(session, 1);
  const size_t capacity = [&] {
    EXPECT_OK(mpc_session_profile_stop(session.get()));
    const size_t records = profile_info(session).num_records;
    start_profile(session, 1, /*resume=*/true);
    return records;
  }();
  for (int i = 0; i < 20; ++i) (void)step(session, 1);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  const mpc_profile_info_t info = profile_info(session);
  EXPECT_EQ(info.calls, 20u);
  EXPECT_EQ(info.num_events, capacity);
  EXPECT_GT(info.dropped_events, 0u);
  const auto events = profile_events(session);
  EXPECT_EQ(events.back().record, info.num_records - 1) << "the last call";
  for (size_t i = 1; i < events.size(); ++i)
    EXPECT_LE(events[i - 1].end_ns, events[i].end_ns);
}

TEST(Profile, ResumesOrStartsAnew) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  start_profile(session, 8);
  (void)step(session, 1);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  (void)step(session, 1);
  start_profile(session, 0, /*resume=*/true);
  (void)step(session, 1);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  EXPECT_EQ(profile_info(session).calls, 2u);
  expect_consistent(session);
  start_profile(session);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  EXPECT_EQ(profile_info(session).calls, 0u);
  EXPECT_EQ(profile_info(session).num_events, 0u);
}

// A session may be destroyed while it profiles.
TEST(Profile, EndsWithTheSession) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  start_profile(session, 4);
  EXPECT_EQ(step(session, 1).call, 1u);
}

TEST(Profile, WritesTraces) {
  PackageOptions options;
  options.edit = [](program::ProgramT& root) {
    for (auto& entry : root.variants[0]->entries)
      if (entry->name == "step")
        entry->instructions[0]->name = "quote\" \\ tab\t \xff";
  };
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  start_profile(session, 10);
  (void)step(session, 1);
  EXPECT_OK(mpc_session_profile_stop(session.get()));
  char* text = nullptr;
  EXPECT_OK(mpc_session_profile_trace(session.get(), &text));
  ASSERT_NE(text, nullptr);
  runtime::Json json;
  std::string error;
  ASSERT_TRUE(
      runtime::Json::parse(text, std::strlen(text), 100000, &json, &error))
      << error << text;
  const runtime::Json* events = json.find("traceEvents");
  ASSERT_NE(events, nullptr);
  std::multiset<std::string> phases, categories;
  std::set<std::string> names;
  for (const runtime::Json& event : events->items) {
    phases.insert(event.find("ph")->text);
    names.insert(event.find("name")->text);
    if (event.find("ph")->text != "X") continue;
    categories.insert(event.find("cat")->text);
    EXPECT_EQ(event.find("ts")->kind, runtime::Json::Kind::kNumber);
    EXPECT_EQ(event.find("dur")->kind, runtime::Json::Kind::kNumber);
  }
  EXPECT_EQ(phases.count("X"), profile_info(session).num_events);
  EXPECT_EQ(phases.count("M"), 2u);
  EXPECT_EQ(categories.count("call"), 1u);
  EXPECT_EQ(categories.count("inputs"), 1u);
  EXPECT_EQ(names.count("quote\" \\ tab\t ?"), 1u);
  mpc_string_free(text);
}

TEST(Profile, RefusesWrongCalls) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  mpc_session_t* s = session.get();
  mpc_profile_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_profile_options_t options = {sizeof(options), 0, 1};
  char* text = nullptr;
  const auto expect_refused = [](mpc_status_t status, const char* message) {
    const Outcome outcome = take(status);
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, message);
  };
  const char* nothing = "the session has not profiled anything";
  expect_refused(mpc_session_profile_start(nullptr, nullptr),
                 "the session is NULL");
  expect_refused(mpc_session_profile_stop(nullptr), "the session is NULL");
  expect_refused(mpc_session_profile_info(nullptr, &info),
                 "the session is NULL");
  expect_refused(mpc_session_profile_stop(s),
                 "the session does not profile; start that first");
  expect_refused(mpc_session_profile_start(s, &options),
                 "there is no profile to resume");
  expect_refused(mpc_session_profile_info(s, &info), nothing);
  expect_refused(mpc_session_profile_record(s, 0, nullptr), nothing);
  expect_refused(mpc_session_profile_event(s, 0, nullptr), nothing);
  expect_refused(mpc_session_profile_trace(s, &text), nothing);
  options = {0, 0, 0};
  expect_refused(mpc_session_profile_start(s, &options),
                 "struct_size of the profile's options is not set");
  EXPECT_OK(mpc_session_profile_start(s, nullptr));
  expect_refused(mpc_session_profile_start(s, nullptr),
                 "the session already profiles; stop that first");
  expect_refused(mpc_session_profile_info(s, &info),
                 "the session still profiles; stop that first");
  EXPECT_OK(mpc_session_profile_stop(s));
  expect_refused(mpc_session_profile_info(s, nullptr), "the result is NULL");
  expect_refused(mpc_session_profile_record(s, 0, nullptr),
                 "the result is NULL");
  mpc_profile_record_t record = {};
  record.struct_size = sizeof(record);
  const size_t count = profile_info(session).num_records;
  expect_refused(mpc_session_profile_record(s, count, &record),
                 ("there is no record " + std::to_string(count) +
                  ": the profile has " + std::to_string(count))
                     .c_str());
  mpc_profile_event_t event = {};
  event.struct_size = sizeof(event);
  expect_refused(mpc_session_profile_event(s, 0, &event),
                 "there is no event 0: the profile has 0");
  expect_refused(mpc_session_profile_trace(s, &text),
                 "the profile has no timeline; set timeline_calls when it "
                 "starts");
  expect_refused(mpc_session_profile_trace(s, nullptr), "the result is NULL");
  options = {sizeof(options), UINT64_MAX, 0};
  EXPECT_EQ(take(mpc_session_profile_start(s, &options)).code,
            MPC_OUT_OF_MEMORY);
  (void)step(session, 1);
}

}  // namespace
}  // namespace mpc::test
