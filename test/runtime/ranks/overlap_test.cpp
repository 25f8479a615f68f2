// Gradients that are added up while others are computed.

#include "runtime/src/ranks/overlap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

using runtime::Bucket;
using runtime::Overlap;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

// An instruction that accesses f32 at these bytes of the states.
std::unique_ptr<program::InstructionT> access(uint64_t offset, uint64_t bytes) {
  auto buffer = std::make_unique<program::BufferT>();
  buffer->space = program::Space::State;
  buffer->offset = offset;
  buffer->dtype = program::DType::F32;
  buffer->shape = {static_cast<int64_t>(bytes / 4)};
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->operands.push_back(std::move(buffer));
  return instruction;
}

TEST(Overlap, CutsGradientsInTheOrderInWhichTheyAreComplete) {
  constexpr uint64_t kOffset = 640, kBytes = 60 * kMegabyte;
  program::VariantT variant;
  for (int i = 0; i < 2; ++i) {
    auto entry = std::make_unique<program::EntryT>();
    entry->name = i == 0 ? "accumulate" : "accumulate@8";
    // Another state; the end; the first half, whose beginning comes last.
    entry->instructions.push_back(access(0, kOffset));
    entry->instructions.push_back(
        access(kOffset + 30 * kMegabyte, 30 * kMegabyte));
    if (i == 1) entry->instructions.push_back(access(0, 4));
    entry->instructions.push_back(
        access(kOffset + 4 * kMegabyte, 26 * kMegabyte));
    entry->instructions.push_back(access(kOffset, 4 * kMegabyte));
    // Another state behind the gradients.
    entry->instructions.push_back(access(kOffset + kBytes, 640));
    variant.entries.push_back(std::move(entry));
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Variant::Pack(builder, &variant));
  const auto* packed =
      flatbuffers::GetRoot<program::Variant>(builder.GetBufferPointer());
  const std::vector<Bucket> buckets =
      runtime::make_buckets(*packed, {0, 1}, 0, kOffset, kBytes);
  ASSERT_EQ(buckets.size(), 4u);
  const uint64_t ends[] = {60, 59, 34, 9};
  const size_t ready[] = {2, 2, 3, 4};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(buckets[i].end, ends[i] * kMegabyte);
    EXPECT_EQ(buckets[i].begin, i == 3 ? 0 : ends[i + 1] * kMegabyte);
    EXPECT_EQ(buckets[i].ready[0], ready[i]) << i;
    EXPECT_EQ(buckets[i].ready[1], ready[i] + (ready[i] > 2)) << i;
  }
}

TEST(Overlap, AddsABucketWhenItIsComplete) {
  const std::vector<Bucket> buckets = {{8, 16, {2}}, {0, 8, {4}}};
  std::atomic<size_t> ran{0};
  std::vector<uint64_t> added;
  Overlap overlap(buckets, [&](const Bucket& bucket) {
    EXPECT_GE(ran, bucket.ready[0]);
    added.push_back(bucket.begin);
    return nullptr;
  });
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(overlap.begin(0));
    for (size_t i = 1; i <= 5; ++i) {
      ran = i;
      overlap.ran(i);
    }
    EXPECT_OK(overlap.finish(false));
    EXPECT_EQ(added, (std::vector<uint64_t>{8, 0}));
    added.clear();
    ran = 0;
  }
}

TEST(Overlap, EndsWithAFailedRun) {
  const std::vector<Bucket> buckets = {{8, 16, {1}}, {0, 8, {4}}};
  std::atomic<int> added{0};
  Overlap overlap(buckets, [&](const Bucket&) {
    ++added;
    return nullptr;
  });
  ASSERT_TRUE(overlap.begin(0));
  overlap.ran(1);
  while (added == 0) std::this_thread::yield();
  EXPECT_OK(overlap.finish(true));
  EXPECT_EQ(added, 1);
}

TEST(Overlap, ReportsTheFirstError) {
  const std::vector<Bucket> buckets = {{8, 16, {1}}, {0, 8, {1}}};
  int calls = 0;
  Overlap overlap(buckets, [&](const Bucket&) {
    return mpc_status_make(MPC_RANK_LOST, "call %d", ++calls);
  });
  ASSERT_TRUE(overlap.begin(0));
  overlap.ran(1);
  EXPECT_EQ(take(overlap.finish(false)).message, "call 1");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace mpc::test
