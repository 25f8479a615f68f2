// The entry point `observe`: valid and invalid packages, and its description in
// the API.

#include <gtest/gtest.h>

#include "kernels/observation.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

using namespace program;
using Edit = std::function<void(ProgramT&)>;

EntryT& entry_of(ProgramT& p, const std::string& name) {
  for (auto& entry : p.variants[0]->entries)
    if (entry->name == name) return *entry;
  return *p.variants[0]->entries[0];
}

// Adds `observe` with two rows: for input `x`, and for an op that reads it.
void add_observe(ProgramT& p) {
  VariantT& variant = *p.variants[0];
  auto entry = std::make_unique<EntryT>();
  entry->name = "observe";
  for (const auto& input : entry_of(p, "step").inputs) {
    auto copy = std::make_unique<BindingT>();
    copy->name = input->name;
    copy->buffer = std::make_unique<BufferT>();
    copy->buffer->offset = input->buffer->offset;
    copy->buffer->dtype = input->buffer->dtype;
    copy->buffer->shape = input->buffer->shape;
    copy->has_range = input->has_range;
    copy->low = input->low;
    copy->high = input->high;
    copy->has_ignored = input->has_ignored;
    copy->ignored = input->ignored;
    copy->batch_dim = input->batch_dim;
    entry->inputs.push_back(std::move(copy));
  }
  auto table = std::make_unique<BindingT>();
  table->name = "observations";
  table->buffer = std::make_unique<BufferT>();
  table->buffer->offset = (variant.arena_size + 63) / 64 * 64;
  table->buffer->dtype = DType::F64;
  table->buffer->shape = {2, kernels::kObservationWidth};
  variant.arena_size =
      table->buffer->offset + 2 * kernels::kObservationWidth * 8;
  entry->outputs.push_back(std::move(table));
  for (const char* name : {"x", "fc1"}) {
    auto row = std::make_unique<ObservationT>();
    row->name = name;
    row->dtype = DType::F32;
    row->shape = {4, 4};
    entry->observations.push_back(std::move(row));
  }
  ObservationT& op = *entry->observations[1];
  op.kind = ObservationKind::Backward;
  op.op = "train.matmul";
  op.type = "Gemm";
  op.reads = {0};
  entry->tested = {1};
  variant.entries.push_back(std::move(entry));
}

Outcome load_edited(const Edit& edit) {
  PackageOptions options;
  options.edit = [&](ProgramT& p) {
    add_observe(p);
    edit(p);
  };
  const Bytes package = make_package(options);
  mpc_program_t* program = nullptr;
  Outcome outcome =
      take(mpc_program_load_memory(package.data(), package.size(), &program));
  mpc_program_destroy(program);
  return outcome;
}

TEST(Observe, RowsAreDescribed) {
  PackageOptions options;
  options.edit = add_observe;
  ProgramPtr program = load(make_package(options));
  ASSERT_EQ(mpc_program_num_observations(program.get()), 2u);
  mpc_observation_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_program_observation(program.get(), 0, &info));
  EXPECT_STREQ(info.name, "x");
  EXPECT_STREQ(info.op, "");
  EXPECT_EQ(info.kind, MPC_OBSERVATION_INPUT);
  EXPECT_EQ(info.rounding, -1);
  EXPECT_OK(mpc_program_observation(program.get(), 1, &info));
  EXPECT_STREQ(info.name, "fc1");
  EXPECT_STREQ(info.op, "train.matmul");
  EXPECT_STREQ(info.type, "Gemm");
  EXPECT_EQ(info.kind, MPC_OBSERVATION_BACKWARD);
  EXPECT_EQ(info.dtype, MPC_DTYPE_F32);
  EXPECT_EQ(info.rank, 2u);
  EXPECT_EQ(info.shape[1], 4);
  EXPECT_EQ(take(mpc_program_observation(program.get(), 2, &info)).message,
            "there is no observation 2");
  EXPECT_EQ(take(mpc_program_observation(program.get(), 0, nullptr)).message,
            "the result is NULL");
}

TEST(Observe, OtherProgramsHaveNone) {
  ProgramPtr program = load(make_package());
  EXPECT_EQ(mpc_program_num_observations(program.get()), 0u);
  EXPECT_EQ(mpc_program_num_observations(nullptr), 0u);
}

TEST(Observe, DamagedTablesAreRefused) {
  auto observe = [](ProgramT& p) -> EntryT& { return entry_of(p, "observe"); };
  struct {
    const char* what;
    Edit edit;
  } const cases[] = {
      {"observes nothing",
       [&](ProgramT& p) { observe(p).observations.clear(); }},
      {"its name is not text",
       [&](ProgramT& p) { observe(p).observations[0]->name = "\xff"; }},
      {"its kind is unknown",
       [&](ProgramT& p) {
         observe(p).observations[0]->kind = static_cast<ObservationKind>(77);
       }},
      {"its type or shape is invalid",
       [&](ProgramT& p) { observe(p).observations[0]->shape = {-1}; }},
      {"reads rows that are not before it",
       [&](ProgramT& p) { observe(p).observations[1]->reads = {1}; }},
      {"reads rows that are not before it",
       [&](ProgramT& p) { observe(p).observations[1]->reads = {-1}; }},
      {"reads rows that are not before it",
       [&](ProgramT& p) {
         observe(p).observations[1]->reads = {0, 0};
       }},
      {"tests rows that do not exist",
       [&](ProgramT& p) { observe(p).tested = {2}; }},
      {"its rounding does not exist",
       [&](ProgramT& p) { observe(p).observations[0]->rounding = 2; }},
      {"its tables have other rows than it observes",
       [&](ProgramT& p) { observe(p).observations[0]->rounding = 0; }},
      {"its tables have other rows than it observes",
       [&](ProgramT& p) { observe(p).outputs[0]->name = "table"; }},
      {"its tables have other rows than it observes",
       [&](ProgramT& p) {
         observe(p).outputs[0]->buffer->shape = {2, 79};
       }},
      {"its tables have other rows than it observes",
       [&](ProgramT& p) { observe(p).outputs[0]->buffer->dtype = DType::I64; }},
      {"has other inputs than the step",
       [&](ProgramT& p) { observe(p).inputs.pop_back(); }},
  };
  EXPECT_EQ(load_edited([](ProgramT&) {}).code, MPC_OK);
  for (const auto& one : cases) {
    Outcome outcome = load_edited(one.edit);
    EXPECT_EQ(outcome.code, MPC_DAMAGED) << one.what;
    EXPECT_NE(outcome.message.find(one.what), std::string::npos)
        << outcome.message;
  }
}

}  // namespace
}  // namespace mpc::test
