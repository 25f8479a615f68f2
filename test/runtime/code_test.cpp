// How a session loads the code of a package.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

// The files with code that this process has open.
std::vector<int> code_files() {
  std::vector<int> files;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    std::string target = std::filesystem::read_symlink(entry, ignored).string();
    if (target.rfind("/memfd:mpc-code", 0) == 0)
      files.push_back(std::stoi(entry.path().filename().string()));
  }
  return files;
}

TEST(Code, IsSealedAgainstWrites) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  std::vector<int> files = code_files();
  ASSERT_EQ(files.size(), 1u);
  constexpr int kWanted =
      F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  EXPECT_EQ(::fcntl(files[0], F_GET_SEALS) & kWanted, kWanted);
}

TEST(Code, IsNeverWritableAndExecutableAtOnce) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  std::ifstream maps("/proc/self/maps");
  int mappings = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:mpc-code") == std::string::npos) continue;
    ++mappings;
    const std::string access = line.substr(line.find(' ') + 1, 3);
    EXPECT_FALSE(access[1] == 'w' && access[2] == 'x') << line;
  }
  EXPECT_GT(mappings, 0);
}

TEST(Code, NamesTheMissingFunction) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    p.variants[0]->functions[0]->symbol = "test_nothing";
  };
  ProgramPtr program = load(make_package(options));
  mpc_session_t* session = nullptr;
  Outcome outcome = take(mpc_session_create(program.get(), nullptr, &session));
  EXPECT_EQ(outcome.code, MPC_DAMAGED);
  EXPECT_EQ(outcome.message,
            "the compiled code lacks the function 'test_nothing'");
}

// The code of two programs with the same symbols must not be confused.
TEST(Code, IsSeparateForEachSession) {
  ProgramPtr first = load(make_package());
  ProgramPtr second = load(make_package());
  for (int i = 0; i < 3; ++i) {
    SessionPtr a = create(first), b = create(second);
    (void)step(a, 1.0f);
    EXPECT_NE(read_state(a, "w"), read_state(b, "w"));
    (void)step(b, 1.0f);
    EXPECT_EQ(read_state(a, "w"), read_state(b, "w"));
  }
}

}  // namespace
}  // namespace mpc::test
