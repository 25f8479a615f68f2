#include <gtest/gtest.h>

#include <string>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

// Large initial values are read from the file again, for each session.
TEST(Program, ReadsInitialValuesFromTheFile) {
  PackageOptions options;
  options.table = 1 << 20;
  const Bytes package = make_package(options);
  Folder folder;
  const std::string path = folder / "large.mpc";
  write_bytes(path, package);
  mpc_program_t* loaded = nullptr;
  ASSERT_EQ(take(mpc_program_load_file(path.c_str(), &loaded)).code, MPC_OK);
  ProgramPtr program(loaded);
  const ProgramPtr other = load(package);
  EXPECT_EQ(all_states(program, create(program)),
            all_states(other, create(other)));

  const auto create_again = [&] {
    mpc_session_t* session = nullptr;
    Outcome outcome =
        take(mpc_session_create(program.get(), nullptr, &session));
    EXPECT_EQ(session, nullptr);
    return outcome;
  };
  // The table is the last thing that the file has in front of its seal.
  Bytes changed = package;
  for (size_t i = package.size() / 2; i < package.size() - 64; ++i)
    changed[i] ^= 1;
  write_bytes(path, changed);
  Outcome outcome = create_again();
  EXPECT_EQ(outcome.code, MPC_DAMAGED);
  EXPECT_NE(outcome.message.find("large.mpc' has changed since it was loaded"),
            std::string::npos)
      << outcome.message;
  write_bytes(path, Bytes(100));
  outcome = create_again();
  EXPECT_EQ(outcome.code, MPC_IO);
  EXPECT_NE(outcome.message.find("large.mpc' became shorter"),
            std::string::npos)
      << outcome.message;
}

}  // namespace
}  // namespace mpc::test
