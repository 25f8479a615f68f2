// How a session loads the code of a package.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
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

SessionPtr create_with_folder(const ProgramPtr& program,
                              const std::string& folder) {
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = 1;
  options.code_folder = folder.c_str();
  mpc_session_t* session = nullptr;
  EXPECT_OK(mpc_session_create(program.get(), &options, &session));
  return SessionPtr(session);
}

// Several sessions use one file, and train like others.
TEST(Code, StaysInAFolder) {
  Folder folder;
  ProgramPtr program = load(make_package());
  SessionPtr plain = create(program);
  SessionPtr first = create_with_folder(program, folder.path());
  SessionPtr second = create_with_folder(program, folder.path());
  EXPECT_EQ(code_files().size(), 1u) << "that of the plain session";
  ASSERT_EQ(names_in(folder.path()).size(), 1u);
  const std::string name = names_in(folder.path())[0];
  EXPECT_EQ(name.rfind("mpc-code-", 0), 0u) << name;
  std::ifstream maps("/proc/self/maps");
  const std::string all((std::istreambuf_iterator<char>(maps)),
                        std::istreambuf_iterator<char>());
  EXPECT_NE(all.find(folder / name), std::string::npos);
  EXPECT_EQ(step(first, 1).grad_norm, step(plain, 1).grad_norm);
  EXPECT_EQ(step(second, 2).loss, step(plain, 2).loss);
  first.reset();
  EXPECT_EQ(step(second, 3).loss, 3.0f);
}

TEST(Code, NamesAFolderThatCannotBeWritten) {
  Folder folder;
  ProgramPtr program = load(make_package());
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  const std::string missing = folder / "missing";
  options.code_folder = missing.c_str();
  mpc_session_t* session = nullptr;
  const Outcome outcome =
      take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_IO);
  EXPECT_EQ(outcome.message.rfind("cannot write '" + missing + "/mpc-code-", 0),
            0u)
      << outcome.message;
}

}  // namespace
}  // namespace mpc::test
