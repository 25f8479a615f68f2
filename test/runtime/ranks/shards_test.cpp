// Updates that ranks share.

#include "runtime/src/ranks/shards.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "runtime/src/ranks/sharding.h"
#include "test/runtime/package.h"
#include "test/runtime/ranks/mailboxes.h"

namespace mpc::test {
namespace {

using namespace runtime;
using program::DType;
using program::Space;

// Gradients of 10 rows and a few elements, in two buckets.
constexpr uint64_t kRow = 1024, kUnit = Owners::kUnit;
constexpr uint64_t kElements = 10 * kUnit + 2 * kRow;
constexpr uint64_t kGradients = 64, kBytes = kElements * 4;
constexpr uint64_t kWeights = kGradients + kBytes, kMoment = kWeights + kBytes;
constexpr uint64_t kCopy = kMoment + kBytes, kStates = kCopy + kElements * 2;

std::vector<Bucket> two_buckets() {
  return {{6 * kUnit * 4, kBytes, {1, 0}}, {0, 6 * kUnit * 4, {2, 0}}};
}

struct Operand {
  Space space;
  uint64_t offset;
  DType dtype;
  uint64_t count;
  int64_t of_item;
};

std::unique_ptr<program::InstructionT> instruction(
    const std::vector<Operand>& operands, uint32_t results, uint64_t items,
    bool is_divided) {
  auto made = std::make_unique<program::InstructionT>();
  made->function = 0;
  made->items = items;
  made->results = results;
  for (const Operand& operand : operands) {
    auto buffer = std::make_unique<program::BufferT>();
    buffer->space = operand.space;
    buffer->offset = operand.offset;
    buffer->dtype = operand.dtype;
    buffer->shape = {static_cast<int64_t>(operand.count)};
    made->operands.push_back(std::move(buffer));
    if (is_divided) made->item_elements.push_back(operand.of_item);
  }
  return made;
}

constexpr uint64_t kRows = kElements / kRow;

// Sums of rows, their sum, and an update whose items are rows; `accumulate`
// reads the rounded copy and 100 weights.
program::VariantT adam() {
  const Operand gradients = {Space::State, kGradients, DType::F32, kElements,
                             kRow};
  const Operand weights = {Space::State, kWeights, DType::F32, kElements, kRow};
  const Operand moment = {Space::State, kMoment, DType::F32, kElements, kRow};
  const Operand copy = {Space::State, kCopy, DType::BF16, kElements, kRow};
  const Operand sums = {Space::Arena, 0, DType::F64, kRows, 1};
  const Operand norm = {Space::Arena, 1 << 16, DType::F32, 1, 0};
  program::VariantT variant;
  auto accumulate = std::make_unique<program::EntryT>();
  accumulate->name = "accumulate";
  accumulate->instructions.push_back(instruction(
      {{Space::State, kWeights + 400, DType::F32, 100, 0}, copy}, 0, 1, false));
  auto apply = std::make_unique<program::EntryT>();
  apply->name = "apply";
  auto& list = apply->instructions;
  list.push_back(instruction({gradients, sums}, 1, kRows, true));
  list.push_back(instruction({sums, norm}, 1, 1, false));
  list.push_back(
      instruction({gradients, norm, weights, moment, weights, moment, copy}, 3,
                  kRows, true));
  variant.entries.push_back(std::move(accumulate));
  variant.entries.push_back(std::move(apply));
  return variant;
}

program::StateT gradients_state() {
  program::StateT state;
  state.name = "gradients";
  state.dtype = DType::F32;
  state.shape = {static_cast<int64_t>(kElements)};
  state.offset = kGradients;
  return state;
}

// The tables as the runtime reads them.
class Packed {
 public:
  explicit Packed(const program::VariantT& variant) {
    variant_.Finish(program::Variant::Pack(variant_, &variant));
    const program::StateT state = gradients_state();
    state_.Finish(program::State::Pack(state_, &state));
  }
  const program::Variant& variant() const {
    return *flatbuffers::GetRoot<program::Variant>(variant_.GetBufferPointer());
  }
  const program::State& gradients() const {
    return *flatbuffers::GetRoot<program::State>(state_.GetBufferPointer());
  }
  Shards shards(uint32_t rank, uint32_t size) const {
    return Shards(variant(), 1, gradients(), two_buckets(), rank, size);
  }

 private:
  flatbuffers::FlatBufferBuilder variant_, state_;
};

TEST(Owners, DivideEachBucketInWholeUnits) {
  const Packed packed(adam());
  const Owners owners(two_buckets(), packed.gradients(), 3);
  ASSERT_EQ(owners.buckets(), 2u);
  // 4.5 units and 6 units.
  EXPECT_EQ(owners.bounds(0), (std::vector<uint64_t>{6 * kUnit, 7 * kUnit,
                                                     9 * kUnit, kElements}));
  EXPECT_EQ(owners.bounds(1),
            (std::vector<uint64_t>{0, 2 * kUnit, 4 * kUnit, 6 * kUnit}));
}

TEST(Shards, GatherWhatOthersNeed) {
  const Packed packed(adam());
  const Shards shards = packed.shards(1, 3);
  // The sums of rows before their sum, ...
  ASSERT_EQ(shards.steps().size(), 2u);
  EXPECT_TRUE(shards.steps()[0].gathers.empty());
  EXPECT_EQ(shards.steps()[0].part.end, 1u);
  ASSERT_EQ(shards.steps()[1].gathers.size(), 1u);
  const Piece& sums = shards.steps()[1].gathers[0];
  EXPECT_EQ(sums.space, Space::Arena);
  EXPECT_EQ(sums.place(2 * kUnit), 2 * kUnit / kRow * 8);
  EXPECT_EQ(sums.place(kElements), kRows * 8);
  EXPECT_EQ(shards.steps()[1].part.begin, 1u);
  EXPECT_EQ(shards.steps()[1].part.end, 3u);
  // ... and all of the copy, but only the weights that are used.
  ASSERT_EQ(shards.last_gathers().size(), 1u);
  EXPECT_EQ(shards.last_gathers()[0].begin, kCopy);
  ASSERT_EQ(shards.kept().size(), 2u);
  EXPECT_EQ(shards.kept()[0].begin, kWeights);
  ASSERT_EQ(shards.kept()[0].used.size(), 1u);
  EXPECT_EQ(shards.kept()[0].used[0].begin, kWeights + 400);
  EXPECT_EQ(shards.kept()[0].used[0].end, kWeights + 800);
  EXPECT_EQ(shards.kept()[1].begin, kMoment);
  EXPECT_TRUE(shards.kept()[1].used.empty());
}

TEST(Shards, RunTheItemsOfTheirOwnGradients) {
  const Packed packed(adam());
  std::vector<int> runs(kRows);
  for (uint32_t rank = 0; rank < 3; ++rank) {
    const Shards shards = packed.shards(rank, 3);
    const ItemRanges* items = shards.steps()[0].part.items;
    EXPECT_FALSE(items[1].are_some);
    for (size_t instruction : {0, 2}) {
      EXPECT_TRUE(items[instruction].are_some);
      for (const ItemRanges::Range& range : items[instruction].ranges)
        for (int64_t i = range.begin; i < range.end; ++i)
          runs[static_cast<size_t>(i)] += instruction == 0 ? 1 : 10;
    }
  }
  EXPECT_EQ(runs, std::vector<int>(kRows, 11));
}

TEST(Shards, GatherGradientsForOneSum) {
  program::VariantT variant = adam();
  program::InstructionT& sum = *variant.entries[1]->instructions[0];
  sum.item_elements.clear();
  const Packed packed(variant);
  const Shards shards = packed.shards(0, 2);
  ASSERT_EQ(shards.steps().size(), 1u);
  ASSERT_EQ(shards.steps()[0].gathers.size(), 1u);
  EXPECT_EQ(shards.steps()[0].gathers[0].begin, kGradients);
}

// An update that writes where a rank has its part leaves nothing scattered.
TEST(Shards, KeepNothingThatAllItemsRead) {
  program::VariantT variant = adam();
  auto& list = variant.entries[1]->instructions;
  list.push_back(instruction({{Space::State, kMoment, DType::F32, kElements, 0},
                              {Space::Arena, 1 << 17, DType::F32, 1, 0}},
                             1, 1, false));
  const Packed packed(variant);
  const Shards shards = packed.shards(0, 2);
  ASSERT_EQ(shards.steps().size(), 3u);
  EXPECT_EQ(shards.steps()[2].gathers[0].begin, kMoment);
  ASSERT_EQ(shards.kept().size(), 1u);
  EXPECT_EQ(shards.kept()[0].begin, kWeights);
}

// States and arena of a host.
class HostMemory : public Device {
 public:
  HostMemory() : states_(kStates), arena_(1 << 18) {}
  const std::string& name() const override { return name_; }
  mpc_status_t allocate(uint64_t, uint64_t) override { return nullptr; }
  uint8_t* host_memory(Space space) override {
    return space == Space::State ? states_.data() : arena_.data();
  }
  mpc_status_t upload(Space, uint64_t, const void*, uint64_t,
                      MemoryKind) override {
    return nullptr;
  }
  mpc_status_t download(Space, uint64_t offset, void* data, uint64_t size,
                        MemoryKind) const override {
    std::memcpy(data, states_.data() + offset, size);
    return nullptr;
  }
  mpc_status_t locate(mpc_device_t, const void*, MemoryKind*) const override {
    return nullptr;
  }
  mpc_status_t prepare(std::unique_ptr<Executable>*) override {
    return nullptr;
  }

 private:
  const std::string name_ = "host";
  std::vector<uint8_t> states_, arena_;
};

TEST(Sharding, PutsTogetherWhatRanksHave) {
  const Packed packed(adam());
  on_ranks(3, [&](Exchange&, const mpc_communicator_t& self) {
    HostMemory memory;
    Sharding sharding(self, &memory, packed.variant(), 1, packed.gradients(),
                      two_buckets(), /*shares_gradients=*/false);
    EXPECT_EQ(sharding.shared_bytes(), 2 * kBytes);
    const auto state = [&](uint64_t offset) {
      return reinterpret_cast<float*>(memory.host_memory(Space::State) +
                                      offset);
    };
    const auto value = [](uint64_t element) { return element + 0.5f; };
    auto* const sums =
        reinterpret_cast<double*>(memory.host_memory(Space::Arena));
    size_t parts = 0;
    EXPECT_OK(sharding.update([&](const Part& part) {
      ++parts;
      for (size_t i = part.begin; i < part.end; ++i)
        for (const ItemRanges::Range& range : part.items[i].ranges)
          for (uint64_t row = range.begin; row < uint64_t(range.end); ++row) {
            if (i == 0) sums[row] = value(row);
            for (uint64_t e = row * kRow; i == 2 && e < (row + 1) * kRow; ++e)
              state(kWeights)[e] = state(kMoment)[e] = value(e);
          }
      for (uint64_t row = 0; part.begin > 0 && row < kRows; ++row)
        EXPECT_EQ(sums[row], value(row));
      return nullptr;
    }));
    EXPECT_EQ(parts, 2u);
    for (uint64_t i = 100; i < 200; ++i)
      EXPECT_EQ(state(kWeights)[i], value(i));
    // Others have the rest, which all read together.
    EXPECT_TRUE(sharding.is_scattered(kMoment, 4));
    EXPECT_FALSE(sharding.is_scattered(kCopy, 4));
    constexpr uint64_t kSkipped = 5;
    std::vector<float> read(kElements - kSkipped);
    for (uint64_t offset : {kWeights, kMoment}) {
      EXPECT_OK(
          sharding.read(offset + kSkipped * 4, read.data(), read.size() * 4));
      for (uint64_t i = 0; i < read.size(); ++i)
        ASSERT_EQ(read[i], value(i + kSkipped));
    }
    sharding.made_whole();
    EXPECT_FALSE(sharding.is_scattered(kMoment, 4));
  });
}

}  // namespace
}  // namespace mpc::test
