// Saving and loading: bit for bit, all or nothing, the newest whole one.

#include "runtime/src/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "mpc/runtime.hpp"
#include "runtime/src/base/number.h"
#include "test/runtime/package.h"

namespace mpc::test {
namespace {

Outcome save(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_save_checkpoint(session.get(), path.c_str()));
}

Outcome restore(const SessionPtr& session, const std::string& path) {
  return take(mpc_session_load_checkpoint(session.get(), path.c_str()));
}

// At every step of a run, saving and loading into a fresh session changes no
// bit of what follows: weights, moments, scale, streak, step, micro-batches.
void check_resume(const PackageOptions& options) {
  constexpr int kSteps = 8;
  ProgramPtr program = load(make_package(options));
  Folder folder;
  SessionPtr straight = create(program);
  std::vector<Bytes> history;
  for (int i = 0; i < kSteps; ++i) {
    EXPECT_EQ(save(straight, folder / std::to_string(i)).message, "");
    (void)step(straight, static_cast<float>(i));
    history.push_back(all_states(program, straight));
  }
  for (int start = 0; start < kSteps; ++start) {
    mpc_session_t* fresh = nullptr;
    EXPECT_OK(mpc_session_create(program.get(), nullptr, &fresh));
    SessionPtr session(fresh);
    EXPECT_EQ(restore(session, folder / std::to_string(start)).message, "");
    for (int i = start; i < kSteps; ++i) {
      (void)step(session, static_cast<float>(i));
      ASSERT_EQ(all_states(program, session), history[static_cast<size_t>(i)]);
    }
  }
}

TEST(Checkpoint, ResumesBitForBit) {
  check_resume({});
  PackageOptions overflowing;
  overflowing.loss_scale = 1 << 15;
  check_resume(overflowing);
  PackageOptions accumulating;
  accumulating.accumulate = 3;
  check_resume(accumulating);
  PackageOptions plain;
  plain.loss_scaling = plain.working_copy = false;
  check_resume(plain);
}

TEST(Checkpoint, KeepsPropertiesAndProgress) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  EXPECT_OK(
      mpc_session_set_property(session.get(), "epoch \"x\"", "3\n\xc3\xa4"));
  mpc_step_info_t before = step(session, 1);
  EXPECT_EQ(save(session, folder / "a/").code, MPC_OK);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
  EXPECT_EQ(names_in(folder / "a"),
            (std::vector<std::string>{"MANIFEST.json", "model.safetensors",
                                      "optimizer.safetensors", "state.json"}));
  SessionPtr other = create(program);
  EXPECT_OK(mpc_session_set_property(other.get(), "gone", "1"));
  EXPECT_EQ(restore(other, folder / "a").message, "");
  EXPECT_STREQ(mpc_session_get_property(other.get(), "epoch \"x\""),
               "3\n\xc3\xa4");
  EXPECT_EQ(mpc_session_get_property(other.get(), "gone"), nullptr);
  EXPECT_EQ(step(other, 2).step, before.step + 1);
}

// The count of overflows at the floor is part of what is resumed.
TEST(Checkpoint, KeepsTheCountOfOverflows) {
  PackageOptions options;
  options.loss_scale = 1;
  ProgramPtr program = load(make_package(options));
  Folder folder;
  SessionPtr session = create(program);
  for (int i = 0; i < 19; ++i) (void)step(session, 1e6f);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  SessionPtr other = create(program);
  EXPECT_EQ(restore(other, folder / "a").message, "");
  Batch batch(1e6f);
  EXPECT_EQ(take(mpc_session_step(other.get(), batch.tensors, 2, nullptr)).code,
            MPC_NUMERIC);
}

// Such weights are worth nothing, unless somebody asks for them.
TEST(Checkpoint, SavesNoWeightsThatAreNotFinite) {
  ProgramPtr program = load(make_package());
  Folder folder;
  for (bool allowed : {false, true}) {
    mpc_session_options_t options = {};
    options.struct_size = sizeof(options);
    options.allow_non_finite = allowed;
    mpc_session_t* raw = nullptr;
    EXPECT_OK(mpc_session_create(program.get(), &options, &raw));
    SessionPtr session(raw);
    float b[2] = {1, std::numeric_limits<float>::quiet_NaN()};
    int64_t shape[1] = {2};
    mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 1, shape, b, {}};
    EXPECT_OK(mpc_session_write_state(session.get(), "b", &tensor));
    Outcome outcome = save(session, folder / "a");
    EXPECT_EQ(outcome.code, allowed ? MPC_OK : MPC_NUMERIC);
    EXPECT_EQ(outcome.message,
              allowed ? ""
                      : "the checkpoint is not saved: 'b' is not finite at "
                        "position 1; the session's option allow_non_finite "
                        "saves it all the same");
    EXPECT_EQ(names_in(folder.path()).size(), allowed ? 1u : 0u);
  }
}

TEST(Checkpoint, ReplacesOnlyCheckpoints) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  (void)step(session, 1);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"a"});
  SessionPtr other = create(program);
  EXPECT_EQ(restore(other, folder / "a").message, "");
  EXPECT_EQ(all_states(program, other), all_states(program, session));

  ASSERT_EQ(mkdir((folder / "thesis").c_str(), 0755), 0);
  write_bytes(folder / "thesis/final.tex", {1, 2, 3});
  write_bytes(folder / "file", {1});
  ASSERT_EQ(symlink("a", (folder / "link").c_str()), 0);
  for (const char* name : {"thesis", "file", "link"}) {
    Outcome outcome = save(session, folder / name);
    EXPECT_EQ(outcome.code, MPC_IO);
    EXPECT_NE(outcome.message.find("not a checkpoint stands there"),
              std::string::npos)
        << outcome.message;
  }
  EXPECT_EQ(read_bytes(folder / "thesis/final.tex"), (Bytes{1, 2, 3}));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"a", "file", "link", "thesis"}));
  EXPECT_EQ(save(session, folder / "no/where").code, MPC_IO);
  EXPECT_EQ(save(session, "").code, MPC_INVALID_ARGUMENT);
}

// Each bit of each file, and each length: refused, and the session stays.
TEST(Checkpoint, RefusesEveryDamage) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  (void)step(session, 1);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  SessionPtr other = create(program);
  Bytes before = all_states(program, other);
  for (const std::string& name : names_in(folder / "a")) {
    std::string path = folder / ("a/" + name);
    const Bytes whole = read_bytes(path);
    size_t stride = name == "MANIFEST.json" ? 1 : 7;
    for (size_t bit = 0; bit < 8 * whole.size(); bit += stride) {
      Bytes changed = whole;
      changed[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      write_bytes(path, changed);
      mpc_code_t code = restore(other, folder / "a").code;
      ASSERT_TRUE(code == MPC_DAMAGED ||
                  (code == MPC_INCOMPATIBLE && name == "MANIFEST.json"))
          << name << " bit " << bit;
    }
    for (size_t size = whole.size(); size-- > 0;) {
      write_bytes(
          path, Bytes(whole.begin(), whole.begin() + static_cast<long>(size)));
      ASSERT_EQ(restore(other, folder / "a").code, MPC_DAMAGED) << name;
    }
    ASSERT_EQ(unlink(path.c_str()), 0);
    EXPECT_EQ(restore(other, folder / "a").message,
              "'" + (folder / "a") + "' is not a whole checkpoint: no " + name);
    write_bytes(path, whole);
  }
  EXPECT_EQ(all_states(program, other), before);
  EXPECT_EQ(restore(other, folder / "a").code, MPC_OK);
  EXPECT_EQ(restore(other, folder / "none").code, MPC_IO);
}

// With checksums that are right the parsers have the word: whatever the files
// say, memory stays as it should (the sanitizer build looks) and a checkpoint
// is taken whole or not at all.
TEST(Checkpoint, SurvivesSealedNonsense) {
  ProgramPtr program = load(make_package());
  Folder folder;
  SessionPtr session = create(program);
  (void)step(session, 1);
  ASSERT_EQ(save(session, folder / "a").code, MPC_OK);
  const char* const names[] = {runtime::kModelFile, runtime::kOptimizerFile,
                               runtime::kStateFile};
  std::vector<Bytes> whole;
  for (const char* name : names)
    whole.push_back(read_bytes(folder / "a/" + name));
  SessionPtr other = create(program);
  Bytes before = all_states(program, other);
  std::mt19937 random(1);
  size_t refused = 0, accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    std::vector<Bytes> files = whole;
    Bytes& changed = files[random() % files.size()];
    // What follows the header of tensors is bytes of any value.
    size_t reach = std::min<size_t>(changed.size(), 700);
    constexpr char kLikely[] = "0123456789\"{}[],:-x\\";
    for (unsigned j = random() % 3 + 1; j > 0; --j) {
      size_t at = random() % reach;
      switch (random() % 4) {
        case 0:
          changed[at] = static_cast<uint8_t>(random());
          break;
        case 1:
          changed[at] =
              static_cast<uint8_t>(kLikely[random() % (sizeof(kLikely) - 1)]);
          break;
        case 2:
          changed.erase(changed.begin() + static_cast<long>(at));
          break;
        default:
          changed.insert(changed.begin() + static_cast<long>(at), changed[at]);
      }
      reach = std::min(reach, changed.size());
    }
    std::vector<runtime::FileRecord> records;
    for (size_t k = 0; k < files.size(); ++k) {
      write_bytes(folder / "a/" + names[k], files[k]);
      records.push_back({names[k], files[k].size(),
                         runtime::checksum(files[k].data(), files[k].size())});
    }
    std::string manifest = runtime::manifest_text(records);
    write_bytes(folder / "a/" + runtime::kManifestFile,
                Bytes(manifest.begin(), manifest.end()));
    mpc_code_t code = restore(other, folder / "a").code;
    uint64_t bytes;
    Outcome verified = take(runtime::verify_checkpoint(runtime::system_files(),
                                                       folder / "a", &bytes));
    ASSERT_EQ(verified.code, code == MPC_DAMAGED ? MPC_DAMAGED : MPC_OK)
        << verified.message;
    if (code == MPC_OK) {
      ++accepted;
      other = create(program);
      continue;
    }
    ++refused;
    ASSERT_TRUE(code == MPC_DAMAGED || code == MPC_INCOMPATIBLE) << code;
    ASSERT_EQ(all_states(program, other), before);
  }
  EXPECT_GT(refused, accepted);
  EXPECT_GT(accepted, 0u);  // Names of properties and values may change.
}

// Masters are f32 in every precision, so precisions may change; the loss scale
// that only one side has is filled in or dropped.
TEST(Checkpoint, CrossesPrecisions) {
  PackageOptions plain_options;
  plain_options.loss_scaling = plain_options.working_copy = false;
  ProgramPtr scaled = load(make_package());
  ProgramPtr plain = load(make_package(plain_options));
  Folder folder;
  SessionPtr a = create(scaled), b = create(plain);
  (void)step(a, 1);
  (void)step(a, 2);
  EXPECT_EQ(save(a, folder / "a").code, MPC_OK);
  EXPECT_EQ(restore(b, folder / "a").message, "");
  EXPECT_EQ(read_state(a, "w"), read_state(b, "w"));
  EXPECT_EQ(step(b, 3).step, 3u);
  EXPECT_EQ(save(b, folder / "b").code, MPC_OK);
  EXPECT_EQ(restore(a, folder / "b").message, "");
  EXPECT_EQ(read_float(a, "loss_scale"), 8.0f);
  EXPECT_EQ(read_state(a, "w"), read_state(b, "w"));
  EXPECT_EQ(step(a, 4).step, 4u);
}

TEST(Checkpoint, RefusesOtherPrograms) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  EXPECT_EQ(save(session, folder / "a").code, MPC_OK);
  struct Other {
    const char* message;
    PackageOptions options;
  };
  Other renamed{"it lacks 'v'", {}};
  renamed.options.parameter = "v";
  Other reshaped{"'b' is f32[2], the program's is f32[1]", {}};
  reshaped.options.edit = [](program::ProgramT& p) {
    p.states[0]->slots[1]->shape = {1};
  };
  Other larger{"it lacks 'c'", {}};
  larger.options.edit = [](program::ProgramT& p) {
    auto slot = std::make_unique<program::SlotT>();
    slot->name = "c";
    slot->offset = 32;
    p.states[0]->slots.push_back(std::move(slot));
  };
  Other smaller{"the program has no 'w'", {}};
  smaller.options.edit = [](program::ProgramT& p) {
    p.states[0]->slots.erase(p.states[0]->slots.begin());
  };
  Other accumulating{"it lacks 'gradients/b'", {}};
  accumulating.options.accumulate = 2;
  for (const Other* other :
       {&renamed, &reshaped, &larger, &smaller, &accumulating}) {
    ProgramPtr changed = load(make_package(other->options));
    SessionPtr target = create(changed);
    Outcome outcome = restore(target, folder / "a");
    EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
    EXPECT_NE(outcome.message.find(other->message), std::string::npos)
        << outcome.message;
  }
}

//===----------------------------------------------------------------------===//
// Folders of checkpoints
//===----------------------------------------------------------------------===//

struct Latest {
  Outcome outcome;
  std::string path, warning;
};

Latest load_latest(const SessionPtr& session, const std::string& folder) {
  char* path = nullptr;
  char* warning = nullptr;
  Latest latest;
  latest.outcome = take(
      mpc_session_load_latest(session.get(), folder.c_str(), &path, &warning));
  if (path) latest.path = path;
  if (warning) latest.warning = warning;
  mpc_string_free(path);
  mpc_string_free(warning);
  return latest;
}

TEST(Checkpoint, FallsBackToTheNewestWholeOne) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Latest latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.outcome.code, MPC_OK);
  EXPECT_EQ(latest.path, "");
  EXPECT_EQ(load_latest(session, folder / "none").outcome.code, MPC_OK);

  // Numbers count, not letters: 10 is newer than 9.
  for (const char* name :
       {"step-9", "step-10", "step-100", "step-x", "other"}) {
    (void)step(session, 1);
    EXPECT_EQ(save(session, folder / name).code, MPC_OK);
  }
  latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.path, folder / "step-100");
  EXPECT_EQ(latest.warning, "");

  write_bytes(folder / "step-100/state.json", {'{'});
  latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.path, folder / "step-10");
  EXPECT_EQ(
      latest.warning,
      "'" + (folder / "step-100/state.json") +
          "' is damaged: it has 1 bytes instead of " +
          std::to_string(read_bytes(folder / "step-10/state.json").size()));
  unlink((folder / "step-10/MANIFEST.json").c_str());
  unlink((folder / "step-9/model.safetensors").c_str());
  Bytes before = all_states(program, session);
  latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.outcome.code, MPC_DAMAGED);
  EXPECT_NE(latest.outcome.message.find("no checkpoint in"), std::string::npos);
  EXPECT_EQ(all_states(program, session), before);

  // Between the two renames of a file system without exchange.
  ASSERT_EQ(save(session, folder / "step-200").code, MPC_OK);
  std::string aside = folder / "step-200.old-1-00000000-0000000000000000";
  ASSERT_EQ(rename((folder / "step-200").c_str(), aside.c_str()), 0);
  EXPECT_EQ(load_latest(session, folder.path()).path, aside);
}

// What cannot be read now may be whole: an older one would undo the training
// since without a word of it.
TEST(Checkpoint, OnlyDamageMakesAnOlderOneTheLatest) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  for (const char* name : {"step-1", "step-2"}) {
    (void)step(session, 1);
    EXPECT_EQ(save(session, folder / name).code, MPC_OK);
  }
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // Room for a listing of the folder, and for none of its files.
  for (rlim_t files = 3; files < 64; ++files) {
    rlimit tight = {files, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &tight), 0);
    Latest latest = load_latest(session, folder.path());
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (latest.outcome.code == MPC_OK)
      EXPECT_EQ(latest.path, folder / "step-2") << files;
    else
      EXPECT_EQ(latest.outcome.code, MPC_IO) << latest.outcome.message;
  }
  // What is named like one and is none says nothing about the others.
  write_bytes(folder / "step-8", {1});
  ASSERT_EQ(symlink("nowhere", (folder / "step-9").c_str()), 0);
  Latest latest = load_latest(session, folder.path());
  EXPECT_EQ(latest.path, folder / "step-2");
  EXPECT_NE(latest.warning.find("step-8"), std::string::npos);
  EXPECT_NE(latest.warning.find("step-9"), std::string::npos);
}

// A process that was killed while it pruned, before its parent knows of it.
TEST(Checkpoint, RemovesWhatAKilledPruneLeft) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  EXPECT_EQ(save(session, folder / "step-9").code, MPC_OK);
  pid_t killed = fork();
  if (killed == 0) pause();
  std::string mine = "-" + std::to_string(getpid()) + "-";
  for (const char* name :
       {"step-1", "step-2.old-1-00000000-0000000000000000"}) {
    std::string left = runtime::name_beside(folder / name, "tmp");
    left.replace(left.rfind(mine), mine.size(),
                 "-" + std::to_string(killed) + "-");
    EXPECT_EQ(save(session, left).code, MPC_OK);
  }
  std::vector<std::string> all = names_in(folder.path());
  EXPECT_EQ(all.size(), 3u);
  runtime::Files& files = runtime::system_files();
  EXPECT_OK(runtime::remove_leftovers(files, folder.path()));
  EXPECT_EQ(names_in(folder.path()), all) << "it is still at it";
  ASSERT_EQ(kill(killed, SIGKILL), 0);
  siginfo_t info;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(killed), &info, WEXITED | WNOWAIT),
            0);
  EXPECT_OK(runtime::remove_leftovers(files, folder.path()));
  EXPECT_EQ(names_in(folder.path()), std::vector<std::string>{"step-9"});
  EXPECT_EQ(waitpid(killed, nullptr, 0), killed);
  EXPECT_OK(runtime::remove_leftovers(files, folder / "none"));
}

TEST(Checkpoint, PrunesOldOnesAndDebris) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  for (int i = 1; i <= 6; ++i) {
    (void)step(session, 1);
    EXPECT_EQ(save(session, folder / ("step-" + std::to_string(i))).code,
              MPC_OK);
  }
  write_bytes(folder / "step-6/model.safetensors", {1});
  write_bytes(folder / "step-1/notes.txt", {1});  // Somebody else's.
  // Unfinished ones: of a process that is gone, of one that lives.
  pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  std::string alive = runtime::name_beside("step-8", "tmp");
  std::string dead = alive;
  std::string mine = std::to_string(getpid());
  dead.replace(dead.find(mine), mine.size(), std::to_string(gone));
  for (const std::string& name : {alive, dead})
    ASSERT_EQ(mkdir((folder / name).c_str(), 0755), 0);
  write_bytes(folder / (dead + "/state.json"), {1});
  EXPECT_EQ(save(session, folder / "probe").code, MPC_OK);
  EXPECT_OK(mpc_checkpoint_prune(folder.path().c_str(), 2));
  EXPECT_EQ(
      names_in(folder.path()),
      (std::vector<std::string>{"probe", "step-1", "step-4", "step-5", alive}));
  EXPECT_EQ(take(mpc_checkpoint_prune(folder.path().c_str(), 0)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(take(mpc_checkpoint_prune((folder / "none").c_str(), 1)).code,
            MPC_IO);

  // An hour without a change, and it is nobody's.
  timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder / alive).c_str(), old, 0), 0);
  // With nothing whole, nothing goes.
  unlink((folder / "step-1/MANIFEST.json").c_str());
  write_bytes(folder / "step-4/state.json", {1});
  write_bytes(folder / "step-5/state.json", {1});
  EXPECT_OK(mpc_checkpoint_prune(folder.path().c_str(), 1));
  EXPECT_EQ(names_in(folder.path()),
            (std::vector<std::string>{"probe", "step-1", "step-4", "step-5"}));
}

// The C++ header is a thin layer: the same run through it.
TEST(Checkpoint, WorksFromCpp) {
  Bytes package = make_package();
  Folder folder;
  Program program;
  ASSERT_FALSE(program.load_memory(package.data(), package.size()));
  Session session;
  ASSERT_FALSE(session.create(program));
  EXPECT_EQ(program.inputs("step").size(), 2u);
  EXPECT_EQ(program.states()[0].is_parameter, 1);
  EXPECT_EQ(program.option("precision"), "bf16");
  EXPECT_EQ(program.report(), "{\"ops\":[]}");
  std::vector<float> x(16, 1.0f);
  std::vector<int64_t> labels(4, 1);
  Tensor images(MPC_DTYPE_F32, {4, 4}, x.data());
  Tensor targets(MPC_DTYPE_I64, {4}, labels.data());
  mpc_step_info_t info;
  EXPECT_FALSE(session.step({images.get(), targets.get()}, &info));
  EXPECT_EQ(info.step, 1u);
  mpc::Status wrong = session.step({images.get()}, &info);
  EXPECT_EQ(wrong.code(), MPC_INVALID_ARGUMENT);
  EXPECT_STREQ(wrong.message(), "expected 2 inputs, got 1");
  EXPECT_FALSE(session.set_property("epoch", "1"));
  EXPECT_FALSE(session.save_checkpoint(folder / "step-1"));
  Session other;
  ASSERT_FALSE(other.create(program));
  std::string path, warning;
  EXPECT_FALSE(other.load_latest(folder.path(), &path, &warning));
  EXPECT_EQ(path, folder / "step-1");
  EXPECT_EQ(other.property("epoch"), "1");
}

}  // namespace
}  // namespace mpc::test
