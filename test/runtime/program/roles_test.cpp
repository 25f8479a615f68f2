// Roles of states and entry points in packages.

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

using program::ProgramT;

struct Edit {
  const char* what;  // The error names it.
  std::function<void(ProgramT&)> edit;
};

const Edit kWrong[] = {
    {"state 'step_count': its role is unknown",
     [](ProgramT& p) {
       p.states[3]->role = static_cast<program::StateRole>(
           static_cast<int>(program::StateRole::MAX) + 1);
     }},
    {"state 'step_count': its role does not match its kind",
     [](ProgramT& p) { p.states[3]->role = program::StateRole::Average; }},
    {"is there twice",
     [](ProgramT& p) { p.states[3]->role = program::StateRole::RandomSeed; }},
    {"state 'step_count': it belongs to no state",
     [](ProgramT& p) { p.states[3]->of = 99; }},
    {"state 'step_count': it is pending for no state of its type",
     [](ProgramT& p) {
       p.states[3]->role = program::StateRole::PendingControl;
       p.states[3]->of = 0;
     }},
    {"entry 'predict': its role is unknown",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->role = static_cast<program::EntryRole>(13);
     }},
    {"'forward' and 'backward' need each other",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->role = program::EntryRole::Forward;
     }},
    {"entry 'predict': is no other batch size of an entry",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->other_batch = 8;  // There is no own one.
     }},
    {"entry 'evaluate': is no other batch size of an entry",
     [](ProgramT& p) {
       p.variants[0]->entries[1]->role = program::EntryRole::Predict;
       p.variants[0]->entries[1]->other_batch = 8;  // Other outputs.
     }},
    {"entry 'predict': another has its role",
     [](ProgramT& p) {
       for (size_t i : {0, 1, 2})
         p.variants[0]->entries[i]->role = program::EntryRole::Predict;
       p.variants[0]->entries[1]->other_batch = 8;
       p.variants[0]->entries[2]->other_batch = 8;
     }},
    {"another has its role",
     [](ProgramT& p) {
       p.variants[0]->entries[2]->role = program::EntryRole::Evaluate;
     }},
};

TEST(Roles, MustFitTheirStatesAndEntries) {
  for (const Edit& edit : kWrong) {
    PackageOptions options;
    options.edit = edit.edit;
    Outcome outcome = try_load(make_package(options));
    EXPECT_EQ(outcome.code, MPC_DAMAGED) << edit.what;
    EXPECT_NE(outcome.message.find(edit.what), std::string::npos)
        << "expected '" << edit.what << "' in '" << outcome.message << "'";
  }
}

// A name implies the role of a state only if the package has no roles.
TEST(Roles, ComeFromThePackageThenFromNames) {
  for (bool has_roles : {false, true}) {
    PackageOptions options;
    if (has_roles)
      options.edit = [](ProgramT& p) {
        p.states[3]->name = "mpc.step_count";
        p.states[3]->role = program::StateRole::StepCount;
      };
    ProgramPtr loaded = load(make_package(options));
    size_t counters = 0, moments = 0;
    for (size_t i = 0; i < mpc_program_num_states(loaded.get()); ++i) {
      mpc_state_info_t info = {};
      info.struct_size = sizeof(info);
      EXPECT_OK(mpc_program_state(loaded.get(), i, &info));
      if (info.role == MPC_STATE_STEP_COUNT) {
        ++counters;
        EXPECT_STREQ(info.name, has_roles ? "mpc.step_count" : "step_count");
        EXPECT_EQ(info.weight, nullptr);
      }
      if (info.role == MPC_STATE_OPTIMIZER && info.weight) {
        ++moments;
        EXPECT_EQ(std::string("momentum.velocity/") + info.weight, info.name);
      }
    }
    EXPECT_EQ(counters, 1u);
    EXPECT_EQ(moments, 2u);
  }
}

}  // namespace
}  // namespace mpc::test
