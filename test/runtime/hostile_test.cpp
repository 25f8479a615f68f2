// Malicious folders and files: nothing that is not ours is modified, and no
// file costs more than its size.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/src/checkpoint/checkpoint.h"
#include "test/fuzz/replay.h"
#include "test/fuzz/targets.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

Outcome save(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_save_checkpoint(session.get(), path.c_str()));
}

// The name of a temporary folder whose writer is gone.
std::string abandoned(const std::string& checkpoint) {
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  EXPECT_EQ(waitpid(gone, nullptr, 0), gone);
  std::string name = runtime::unique_sibling_name(checkpoint, "tmp");
  std::string mine = ".tmp-" + std::to_string(getpid());
  return name.replace(name.find(mine), mine.size(),
                      ".tmp-" + std::to_string(gone));
}

TEST(Hostile, PruningFollowsNoLinks) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Folder other, run;
  ASSERT_EQ(save(session, other / "step-7").code, MPC_OK);
  for (const char* name : {"step-1", "step-2", "step-3"})
    ASSERT_EQ(save(session, run / name).code, MPC_OK);
  std::vector<std::string> links = {
      "step-8", "step-8.old-1-00000000-0000000000000000", abandoned("step-9"),
      "step-9.tmp-1-00000000-0000000000000000"};
  for (const std::string& name : links)
    ASSERT_EQ(symlink((other / "step-7").c_str(), (run / name).c_str()), 0);

  // One checkpoint is kept, and it is not the link to a newer one.
  EXPECT_OK(mpc_checkpoint_prune(run.path().c_str(), 1));
  std::vector<std::string> left = names_in(run.path());
  links.push_back("step-3");
  std::sort(links.begin(), links.end());
  EXPECT_EQ(left, links);
  SessionPtr fresh = create(program);
  EXPECT_OK(
      mpc_session_load_checkpoint(fresh.get(), (other / "step-7").c_str()));
  EXPECT_OK(mpc_session_load_checkpoint(fresh.get(), (run / "step-3").c_str()));
}

// A folder is not a checkpoint just because of its name.
TEST(Hostile, PruningKeepsFoldersThatHoldMore) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Folder run;
  ASSERT_EQ(save(session, run / "step-1").code, MPC_OK);
  std::string thesis = abandoned("step-2");
  ASSERT_EQ(mkdir((run / thesis).c_str(), 0755), 0);
  write_bytes(run / (thesis + "/state.json"), {1});
  write_bytes(run / (thesis + "/thesis.tex"), {1});
  EXPECT_OK(mpc_checkpoint_prune(run.path().c_str(), 1));
  EXPECT_EQ(names_in(run / thesis),
            (std::vector<std::string>{"state.json", "thesis.tex"}));
}

//===----------------------------------------------------------------------===//
// Files that cost more than their size
//===----------------------------------------------------------------------===//

// The error for a file with `json` as its header and no data.
std::string tensors_error(const std::string& json) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    file[i] = static_cast<char>(json.size() >> (8 * i));
  file += json;
  std::vector<runtime::StoredTensor> tensors;
  return take(runtime::parse_safetensors(
                  "t", reinterpret_cast<const uint8_t*>(file.data()),
                  file.size(), &tensors))
      .message;
}

// "[0,0,...": a parsed value takes fifty times the memory of its text.
std::string zeros(size_t count) {
  std::string text = "[0";
  for (size_t i = 1; i < count; ++i) text += ",0";
  return text + ']';
}

TEST(Hostile, LimitsValuesInHeaders) {
  std::string many = zeros(1 << 20);
  EXPECT_NE(tensors_error("{\"a\":{\"dtype\":\"F32\",\"shape\":" + many +
                          ",\"data_offsets\":[0,0]}}")
                .find("too many values"),
            std::string::npos);
  EXPECT_NE(tensors_error("{\"a\":" + many + "}").find("too many values"),
            std::string::npos);
  runtime::StateFile state;
  EXPECT_NE(take(runtime::parse_state("s", many.data(), many.size(), &state))
                .message.find("too many values"),
            std::string::npos);
  // The maximum number of tensors is accepted.
  std::string honest = "{";
  for (int i = 0; i < 20000; ++i)
    honest += (i > 0 ? ",\"t" : "\"t") + std::to_string(i) +
              "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
  EXPECT_EQ(tensors_error(honest + "}"), "");
  EXPECT_NE(tensors_error(honest + ",\"t7\":{\"dtype\":\"F32\",\"shape\":[0],"
                                   "\"data_offsets\":[0,0]}}")
                .find("'t7' occurs twice"),
            std::string::npos);
}

// Every checkpoint that can be saved can be read.
TEST(Hostile, NoMorePropertiesThanCanBeRead) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Folder folder;
  std::string large(48 << 20, 'x');
  EXPECT_OK(mpc_session_set_property(session.get(), "large", large.c_str()));
  Outcome outcome = save(session, folder / "a");
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("the session has 1 properties of"),
            std::string::npos)
      << outcome.message;
  EXPECT_TRUE(names_in(folder.path()).empty());
}

// A package with `count` states that are all the same table, with a long name.
Bytes package_of_shared_states(size_t count) {
  flatbuffers::FlatBufferBuilder builder;
  auto state = program::CreateStateDirect(
      builder, std::string(5000, 'n').c_str(), program::StateKind::Parameter,
      program::DType::F32);
  std::vector<flatbuffers::Offset<program::State>> states(count, state);
  std::vector<flatbuffers::Offset<program::Entry>> entries;
  std::vector<flatbuffers::Offset<program::Variant>> variants = {
      program::CreateVariantDirect(builder, "cpu", nullptr, nullptr, 0, 0,
                                   &entries)};
  program::FinishProgramBuffer(
      builder, program::CreateProgramDirect(builder, 1, "p", "m", nullptr,
                                            &states, 64, &variants));
  Bytes package(builder.GetBufferPointer(),
                builder.GetBufferPointer() + builder.GetSize());
  package.resize(package.size() + 16);
  seal(&package);
  return package;
}

Outcome load_outcome(const Bytes& package) {
  mpc_program_t* program = nullptr;
  Outcome outcome =
      take(mpc_program_load_memory(package.data(), package.size(), &program));
  mpc_program_destroy(program);
  return outcome;
}

TEST(Hostile, RejectsTablesThatShareParts) {
  EXPECT_EQ(load_outcome(package_of_shared_states(1)).code, MPC_OK);
  Outcome outcome = load_outcome(package_of_shared_states(20000));
  EXPECT_EQ(outcome.code, MPC_DAMAGED);
  EXPECT_EQ(outcome.message,
            "the package's tables are damaged: they share parts");
}

TEST(Hostile, ShapesHaveFewDimensions) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    p.states[0]->shape.insert(p.states[0]->shape.end(), 64, 1);
  };
  Outcome outcome = load_outcome(make_package(options));
  EXPECT_NE(outcome.message.find("its type or shape is invalid"),
            std::string::npos)
      << outcome.message;
}

TEST(Hostile, VariantsAreFew) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    for (int i = 0; i < 100; ++i) {
      p.variants.emplace_back(new program::VariantT());
      p.variants.back()->device = "device" + std::to_string(i);
    }
  };
  EXPECT_EQ(load_outcome(make_package(options)).message,
            "the package's tables are damaged");
}

//===----------------------------------------------------------------------===//
// Names and numbers
//===----------------------------------------------------------------------===//

// safetensors gives this name another meaning, so the file could not be read.
TEST(Hostile, RejectsTheReservedNameOfMetadata) {
  PackageOptions options;
  options.parameter = "__metadata__";
  Outcome outcome = load_outcome(make_package(options));
  EXPECT_EQ(outcome.code, MPC_DAMAGED);
  EXPECT_NE(
      outcome.message.find("slot '__metadata__' of state 'parameters': its "
                           "name is reserved by the checkpoint format"),
      std::string::npos)
      << outcome.message;
}

TEST(Hostile, StepsAreCountedFromZero) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Folder folder;
  (void)step(session, 1);
  ASSERT_EQ(save(session, folder / "a").code, MPC_OK);
  Bytes text = read_bytes(folder / "a/state.json");
  std::string good(text.begin(), text.end());
  runtime::StateFile state;
  auto parse = [&](const std::string& json) {
    return take(runtime::parse_state("s", json.data(), json.size(), &state));
  };
  EXPECT_EQ(parse(good).message, "");
  auto change = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    size_t at = bad.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return parse(bad.replace(at, from.size(), to));
  };
  constexpr char kWrong[] =
      "'s' is damaged: its step differs from the program's counter";
  EXPECT_EQ(change("\"step\": 1", "\"step\": -1").message, kWrong);
  EXPECT_EQ(change("\"step\": 1", "\"step\": 2").message, kWrong);
  EXPECT_EQ(change("\"step\": 1", "\"step\": 18446744073709551615").message,
            kWrong);
  EXPECT_EQ(change("0100000000000000", "ffffffffffffffff").message, kWrong);
  EXPECT_EQ(change("\"updates\": 1", "\"updates\": -1").message,
            "'s' is damaged: it does not record the position of training");

  int64_t negative = -1;
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_I64, 0,
                         nullptr,        &negative,     {}};
  Outcome outcome =
      take(mpc_session_write_state(session.get(), "step_count", &tensor));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(outcome.message,
            "state 'step_count' counts steps; it cannot be -1");
}

// The size of the first tensor determines the offset of the second.
TEST(Hostile, TensorsAreNoLargerThanTheyCanBe) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  for (size_t size :
       {size_t{1} << 40, size_t{4096}, sizeof(mpc_tensor_t) + 1, ~size_t{0}}) {
    Batch batch(1);
    batch.tensors[0].struct_size = size;
    Outcome outcome =
        take(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message,
              "input 0 ('x'): struct_size is not sizeof(mpc_tensor_t)");
  }
}

// The seeds of fuzzing and what it found.
TEST(Hostile, Corpora) {
  fuzz::replay(MPC_FUZZ_CORPORA "/package", fuzz::package);
  fuzz::replay(MPC_FUZZ_CORPORA "/checkpoint", fuzz::checkpoint);
}

}  // namespace
}  // namespace mpc::test
