// Loading packages: what is accepted, and errors for what is not.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "test/runtime/package.h"
#include "test/runtime/program/load.h"

namespace mpc::test {
namespace {

using program::ProgramT;

TEST(Program, DescribesItself) {
  ProgramPtr program = load(make_package());
  EXPECT_TRUE(mpc_program_has_entry(program.get(), "step"));
  EXPECT_FALSE(mpc_program_has_entry(program.get(), "apply"));
  EXPECT_EQ(mpc_program_num_inputs(program.get(), "step"), 2u);
  EXPECT_EQ(mpc_program_num_outputs(program.get(), "evaluate"), 3u);
  EXPECT_EQ(mpc_program_num_inputs(program.get(), "nothing"), 0u);
  mpc_binding_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_program_input(program.get(), "step", 1, &info));
  EXPECT_STREQ(info.name, "labels");
  EXPECT_EQ(info.dtype, MPC_DTYPE_I64);
  EXPECT_EQ(info.rank, 1u);
  EXPECT_EQ(info.shape[0], 4);
  EXPECT_EQ(info.batch_dim, 0);
  EXPECT_EQ(info.has_range, 1);
  EXPECT_EQ(info.low, 0);
  EXPECT_EQ(info.high, 2);
  EXPECT_EQ(info.has_ignored, 1);
  EXPECT_EQ(info.ignored, -100);
  EXPECT_EQ(take(mpc_program_input(program.get(), "step", 2, &info)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_STREQ(mpc_program_option(program.get(), "precision"), "bf16");
  EXPECT_EQ(mpc_program_option(program.get(), "color"), nullptr);
  EXPECT_STREQ(mpc_program_option_name(program.get(), 0), "precision");
  EXPECT_EQ(mpc_program_option_name(program.get(), 99), nullptr);
  size_t size;
  EXPECT_STREQ(mpc_program_report(program.get(), &size), "{\"ops\":[]}");
  EXPECT_EQ(size, 10u);
  EXPECT_STREQ(mpc_program_device_report(program.get(), "cpu", &size),
               "{\"ops\":[]}");
  EXPECT_EQ(size, 10u);
  EXPECT_EQ(mpc_program_device_report(program.get(), "cuda", &size), nullptr);
  EXPECT_EQ(size, 0u);
  mpc_memory_info_t memory = {};
  memory.struct_size = sizeof(memory);
  mpc_program_memory(program.get(), &memory);
  EXPECT_GT(memory.state_bytes, 10000u);
}

TEST(Program, NamesStatesAsTheModelDoes) {
  ProgramPtr program = load(make_package());
  std::vector<std::string> names;
  size_t parameters = 0;
  for (size_t i = 0; i < mpc_program_num_states(program.get()); ++i) {
    mpc_state_info_t info = {};
    info.struct_size = sizeof(info);
    EXPECT_OK(mpc_program_state(program.get(), i, &info));
    names.push_back(info.name);
    parameters += info.is_parameter;
  }
  EXPECT_EQ(parameters, 2u);
  EXPECT_EQ(names[0], "w");
  EXPECT_EQ(names[1], "b");
  EXPECT_EQ(names[2], "parameters.bf16/w");
  EXPECT_EQ(names[4], "momentum.velocity/w");
}

// Callers compiled with an older, shorter struct are supported.
TEST(Program, FillsShorterStructs) {
  ProgramPtr program = load(make_package());
  mpc_memory_info_t memory = {};
  memory.struct_size = offsetof(mpc_memory_info_t, arena_bytes);
  memory.arena_bytes = 7;
  mpc_program_memory(program.get(), &memory);
  EXPECT_GT(memory.state_bytes, 0u);
  EXPECT_EQ(memory.arena_bytes, 7u);
  mpc_binding_info_t info = {};
  EXPECT_EQ(take(mpc_program_input(program.get(), "step", 0, &info)).code,
            MPC_INVALID_ARGUMENT);
}

TEST(Program, RefusesEveryTruncation) {
  Bytes package = make_small_package();
  EXPECT_EQ(try_load(package).code, MPC_OK);
  for (size_t size = 0; size < package.size(); ++size) {
    Bytes part(package.begin(), package.begin() + static_cast<long>(size));
    part.reserve(1);  // data() must not be null.
    EXPECT_EQ(try_load(part).code, MPC_DAMAGED) << size;
  }
}

TEST(Program, RefusesEveryBitFlip) {
  Bytes package = make_small_package();
  for (size_t bit = 0; bit < 8 * package.size(); ++bit) {
    package[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_EQ(try_load(package).code, MPC_DAMAGED) << bit;
    package[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  EXPECT_EQ(try_load(package).code, MPC_OK);
}

// With valid seals the later checks see damaged tables: whatever the tables
// contain, loading and preparing must not cause memory errors (checked by the
// sanitizer build).
TEST(Program, HandlesCorruptTablesWithValidChecksums) {
  const Bytes package = make_small_package();
  size_t accepted = 0;
  auto attempt = [&](Bytes changed) {
    seal(&changed);
    mpc_program_t* program = nullptr;
    if (take(mpc_program_load_memory(changed.data(), changed.size(), &program))
            .code != MPC_OK)
      return;
    ++accepted;
    mpc_memory_info_t memory = {};
    memory.struct_size = sizeof(memory);
    mpc_program_memory(program, &memory);
    mpc_session_t* session = nullptr;
    if (memory.state_bytes + memory.arena_bytes < (1u << 24))
      (void)take(mpc_session_create(program, nullptr, &session));
    mpc_session_destroy(session);
    mpc_program_destroy(program);
  };
  for (size_t bit = 0; bit < 8 * (package.size() - 16); ++bit) {
    Bytes changed = package;
    changed[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    attempt(std::move(changed));
  }
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes changed = package;
    for (int j = 0; j < 3; ++j)
      changed[random() % (changed.size() - 16)] =
          static_cast<uint8_t>(random() % 2 ? random() : random() % 4 * 85);
    attempt(std::move(changed));
  }
  EXPECT_GT(accepted, 0u);  // Changes of names, for example, are valid.
}

TEST(Program, RefusesNewerFormats) {
  Outcome outcome = load_edited([](ProgramT& p) { p.format = 2; });
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message,
            "package format 2 is newer than the 1 that this runtime reads");
}

TEST(Program, NamesTheMissingCpuFeature) {
  Outcome outcome = load_edited([](ProgramT& p) {
    p.variants[0]->cpu = "future";
    p.variants[0]->cpu_features = {"sse2", "+cx8", "-tbm", "avx2048f"};
  });
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message,
            "compiled for 'future': needs the CPU feature 'avx2048f', which "
            "this runtime does not know");
  EXPECT_EQ(load_edited([](ProgramT& p) {
              p.variants[0]->cpu_features = {"sse2", "64bit", "+cmov"};
            }).code,
            MPC_OK);
  // No CPU has both of these.
  outcome = load_edited([](ProgramT& p) {
    p.variants[0]->cpu_features = {"tbm", "fma4", "amx-fp16", "uintr"};
  });
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_NE(outcome.message.find("this CPU lacks the feature '"),
            std::string::npos);
}

TEST(Program, SkipsSegmentsOfOtherForms) {
  auto become = [](program::SegmentT& segment, const char* form) {
    segment.kind = program::SegmentKind::Other;
    segment.target = "other device";
    segment.form = form;
  };
  EXPECT_EQ(
      load_edited([&](ProgramT& p) { become(*p.segments[1], "spirv"); }).code,
      MPC_OK);
  EXPECT_EQ(load_edited([&](ProgramT& p) { become(*p.segments[1], ""); }).code,
            MPC_OK);
  // The code of the CPU is missing now.
  EXPECT_EQ(
      load_edited([&](ProgramT& p) { become(*p.segments[2], "spirv"); }).code,
      MPC_INCOMPATIBLE);
  Outcome twice = load_edited([&](ProgramT& p) {
    become(*p.segments[1], "spirv");
    become(*p.segments[2], "spirv");
  });
  EXPECT_EQ(twice.code, MPC_DAMAGED);
  EXPECT_NE(twice.message.find("there is another of its kind"),
            std::string::npos);
}

// Entries: step, evaluate, predict, count, derive, show. States end with
// "derived", "runs", "one".
TEST(Program, DerivesAllOfAStateFromStates) {
  const Edit edits[] = {
      {"'derive' and derived states need each other",
       [](ProgramT& p) { p.variants[0]->entries[4]->name = "other"; }},
      {"'derive' and derived states need each other",
       [](ProgramT& p) {
         p.states[p.states.size() - 3]->kind = program::StateKind::Optimizer;
       }},
      {"entry 'derive': must have no inputs and no outputs",
       [](ProgramT& p) {
         p.variants[0]->entries[4]->outputs.swap(
             p.variants[0]->entries[5]->outputs);
       }},
      {"state 'derived': 'derive' makes it",
       [](ProgramT& p) {
         program::StateT& state = *p.states[p.states.size() - 3];
         state.initial_offset = p.states[0]->initial_offset;
         state.initial_size = p.states[0]->initial_size;
       }},
      {"state 'derived': 'derive' makes it",
       [](ProgramT& p) {
         p.states[p.states.size() - 3]->slots.swap(p.states[0]->slots);
       }},
      {"state 'runs': its type or shape",
       [](ProgramT& p) {
         p.states[p.states.size() - 2]->dtype = program::DType::F8E4M3;
       }},
  };
  for (const Edit& edit : edits) {
    PackageOptions options;
    options.derived = true;
    options.edit = edit.edit;
    Outcome outcome = try_load(make_package(options));
    EXPECT_NE(outcome.message.find(edit.what), std::string::npos)
        << "expected '" << edit.what << "' in '" << outcome.message << "'";
  }
}

// Moves a shape by four bytes, which FlatBuffers does not check.
TEST(Program, RefusesNumbersThatAreNotAligned) {
  PackageOptions options;
  options.edit = [](ProgramT& p) {
    // Four bytes further, the first attribute is read as the length.
    p.variants[0]->entries[2]->instructions[0]->attributes = {1, 1};
  };
  Bytes package = make_package(options);
  const program::Program& root = *program::GetProgram(package.data());
  const program::Instruction& call =
      *root.variants()->Get(0)->entries()->Get(2)->instructions()->Get(0);
  struct Move {
    const void* table;
    flatbuffers::voffset_t field;
    const char* what;
  };
  const Move moves[] = {
      {root.variants()->Get(0)->entries()->Get(0)->inputs()->Get(0)->buffer(),
       program::Buffer::VT_SHAPE, "input 0: its type or shape is invalid"},
      {root.states()->Get(0), program::State::VT_SHAPE,
       "state 'parameters': its type or shape is invalid"},
      {root.states()->Get(0)->slots()->Get(0), program::Slot::VT_SHAPE,
       "slot 'w' of state 'parameters': lies outside the state"},
      {&call, program::Instruction::VT_ATTRIBUTES,
       "its attributes are not aligned"},
  };
  for (const Move& move : moves) {
    Bytes changed = package;
    const auto* field = reinterpret_cast<const flatbuffers::Table*>(move.table)
                            ->GetAddressOf(move.field);
    ASSERT_NE(field, nullptr) << move.what;
    uint8_t* offset = changed.data() + (field - package.data());
    flatbuffers::WriteScalar(
        offset, flatbuffers::ReadScalar<flatbuffers::uoffset_t>(offset) + 4);
    seal(&changed);
    Outcome outcome = try_load(changed);
    EXPECT_EQ(outcome.code, MPC_DAMAGED);
    EXPECT_NE(outcome.message.find(move.what), std::string::npos)
        << "expected '" << move.what << "' in '" << outcome.message << "'";
  }
}

TEST(Program, NamesTheFile) {
  Folder folder;
  mpc_program_t* program = nullptr;
  Outcome outcome =
      take(mpc_program_load_file((folder / "none.mpc").c_str(), &program));
  EXPECT_EQ(outcome.code, MPC_IO);
  EXPECT_EQ(outcome.message, "cannot open '" + (folder / "none.mpc") +
                                 "': No such file or directory");
  write_bytes(folder / "short.mpc", Bytes(3));
  outcome =
      take(mpc_program_load_file((folder / "short.mpc").c_str(), &program));
  EXPECT_EQ(outcome.code, MPC_DAMAGED);
  EXPECT_EQ(outcome.message, (folder / "short.mpc") + ": not an mpc package");
  outcome = take(mpc_program_load_file(folder.path().c_str(), &program));
  EXPECT_EQ(outcome.code, MPC_IO);
  EXPECT_EQ(program, nullptr);
}

}  // namespace
}  // namespace mpc::test
