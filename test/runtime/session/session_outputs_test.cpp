// Outputs in memory of the caller: computed there if nothing else lies at their
// place in the arena, otherwise copied.

#include <gtest/gtest.h>

#include <cstring>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

namespace schema = mpc::program;

// Outputs of `step` after the first batch, with guards beside the loss.
struct Outputs {
  alignas(64) float loss[32] = {};
  float norm = 0;
  bool finite = false;
  mpc_tensor_t tensors[3] = {};

  explicit Outputs(size_t first) {
    void* const data[3] = {loss + first, &norm, &finite};
    const mpc_dtype_t dtypes[3] = {MPC_DTYPE_F32, MPC_DTYPE_F32,
                                   MPC_DTYPE_BOOL};
    for (int i = 0; i < 3; ++i) {
      tensors[i].struct_size = sizeof(mpc_tensor_t);
      tensors[i].dtype = dtypes[i];
      tensors[i].data = data[i];
    }
  }
};

schema::EntryT& step_of(schema::ProgramT& program) {
  for (const auto& entry : program.variants[0]->entries)
    if (entry->name == "step") return *entry;
  ADD_FAILURE();
  return *program.variants[0]->entries[0];
}

void expect_outputs(const Bytes& package) {
  const ProgramPtr program = load(package);
  const SessionPtr session = create(program);
  const float mean = 3;
  // Memory of any alignment, memory that nothing is fetched to, and again.
  for (size_t first : {size_t(0), size_t(1), size_t(16), size_t(0)}) {
    Outputs outputs(first);
    EXPECT_OK(mpc_session_run(session.get(), "step", Batch(mean).tensors, 2,
                              outputs.tensors, 3));
    for (size_t i = 0; i < 32; ++i)
      EXPECT_EQ(outputs.loss[i], i == first ? mean : 0) << i;
    EXPECT_GT(outputs.norm, 0);
    EXPECT_TRUE(outputs.finite);
    Outputs none(first);
    none.tensors[0].data = nullptr;
    EXPECT_OK(mpc_session_run(session.get(), "step", Batch(mean).tensors, 2,
                              none.tensors, 3));
    EXPECT_EQ(outputs.loss[first], mean);
    EXPECT_EQ(step(session, 5).loss, 5);
  }
}

TEST(Outputs, AreWrittenToMemoryOfTheCaller) { expect_outputs(make_package()); }

// The loss lies where an input was: elsewhere, the input would be missing.
TEST(Outputs, MayShareTheirPlaceInTheArena) {
  PackageOptions options;
  options.edit = [](schema::ProgramT& program) {
    schema::EntryT& step = step_of(program);
    ASSERT_EQ(step.outputs[0]->name, "loss");
    const schema::BufferT& labels = *step.inputs[1]->buffer;
    step.outputs[0]->buffer->offset = labels.offset;
    step.instructions[0]->operands[4]->offset = labels.offset;
  };
  expect_outputs(make_package(options));
}

}  // namespace
}  // namespace mpc::test
