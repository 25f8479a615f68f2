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

// The entry points of a program that computes 60 MB of gradients behind 640
// bytes of another state.
constexpr uint64_t kOffset = 640, kBytes = 60 * kMegabyte;

std::vector<Bucket> buckets_of(program::VariantT variant) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Variant::Pack(builder, &variant));
  const auto* packed =
      flatbuffers::GetRoot<program::Variant>(builder.GetBufferPointer());
  std::vector<uint32_t> entries;
  for (uint32_t i = 0; i < variant.entries.size(); ++i) entries.push_back(i);
  return runtime::make_buckets(*packed, entries, 0, kOffset, kBytes);
}

TEST(Overlap, CutsGradientsInTheOrderInWhichTheyAreComplete) {
  program::VariantT variant;
  for (int i = 0; i < 2; ++i) {
    auto entry = std::make_unique<program::EntryT>();
    entry->name = i == 0 ? "accumulate" : "accumulate@8";
    auto& list = entry->instructions;
    // Gradients of 3 MB from the end on, with one instruction between two.
    for (uint64_t part = 20; part-- > 2;) {
      list.push_back(access(0, kOffset));
      if (i == 1) list.push_back(access(0, 4));
      list.push_back(access(kOffset + 3 * kMegabyte * part, 3 * kMegabyte));
    }
    // An embedding, which is used first. Then another state.
    for (int other = 0; other < 12; ++other) list.push_back(access(0, 4));
    list.push_back(access(kOffset, 6 * kMegabyte));
    list.push_back(access(kOffset + kBytes, 640));
    variant.entries.push_back(std::move(entry));
  }
  const std::vector<Bucket> buckets = buckets_of(std::move(variant));
  ASSERT_EQ(buckets.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(buckets[i].end, (60 - 6 * i) * kMegabyte);
    EXPECT_EQ(buckets[i].begin, (54 - 6 * i) * kMegabyte);
    EXPECT_EQ(buckets[i].ready[0], i < 9 ? 4 * (i + 1) : 49) << i;
    EXPECT_EQ(buckets[i].ready[1], i < 9 ? 6 * (i + 1) : 67) << i;
  }
}

TEST(Overlap, DoesNotWaitForGradientsThatAreLate) {
  program::VariantT variant;
  auto entry = std::make_unique<program::EntryT>();
  entry->name = "accumulate";
  auto& list = entry->instructions;
  list.push_back(access(kOffset + 20 * kMegabyte, 40 * kMegabyte));
  list.push_back(access(kOffset + 4 * kMegabyte, 2 * kMegabyte));
  for (int other = 0; other < 40; ++other) list.push_back(access(0, 4));
  list.push_back(access(kOffset, 4 * kMegabyte));
  list.push_back(access(kOffset + 6 * kMegabyte, 14 * kMegabyte));
  variant.entries.push_back(std::move(entry));
  const std::vector<Bucket> buckets = buckets_of(std::move(variant));
  // 40 MB in five parts, 2 MB at once, then 14 MB in two parts, and 4 MB.
  const uint64_t ends[] = {60, 52, 44, 36, 28, 6, 4, 20, 12};
  const uint64_t begins[] = {52, 44, 36, 28, 20, 4, 0, 12, 6};
  const size_t ready[] = {1, 1, 1, 1, 1, 2, 43, 44, 44};
  ASSERT_EQ(buckets.size(), 9u);
  for (size_t i = 0; i < 9; ++i) {
    EXPECT_EQ(buckets[i].begin, begins[i] * kMegabyte) << i;
    EXPECT_EQ(buckets[i].end, ends[i] * kMegabyte) << i;
    EXPECT_EQ(buckets[i].ready[0], ready[i]) << i;
  }
}

TEST(Overlap, AddsABucketWhenItIsComplete) {
  const std::vector<Bucket> buckets = {{8, 16, {2}}, {0, 8, {4}}};
  std::atomic<size_t> ran{0};
  std::vector<uint64_t> added;
  Overlap overlap(buckets, [&](size_t i) {
    EXPECT_GE(ran, buckets[i].ready[0]);
    added.push_back(buckets[i].begin);
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
  Overlap overlap(buckets, [&](size_t) {
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
  Overlap overlap(buckets, [&](size_t) {
    return mpc_status_make(MPC_RANK_LOST, "call %d", ++calls);
  });
  ASSERT_TRUE(overlap.begin(0));
  overlap.ran(1);
  EXPECT_EQ(take(overlap.finish(false)).message, "call 1");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace mpc::test
