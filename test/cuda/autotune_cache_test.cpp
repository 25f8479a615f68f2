#include "kernels/cuda/autotune_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mpc::kernels {
namespace {

namespace fs = std::filesystem;

class ChoicesFile : public ::testing::Test {
 protected:
  ChoicesFile()
      : folder(fs::path(::testing::TempDir()) /
               ("mpc-choices-" + std::to_string(::getpid()))) {
    fs::remove_all(folder);
  }
  ~ChoicesFile() override { fs::remove_all(folder); }
  fs::path folder;
};

TEST_F(ChoicesFile, KeepsAndFinds) {
  AutotuneCache first((folder / "deep").string(), "file");
  EXPECT_EQ(first.find("a"), nullptr);
  first.store("a", "1");
  first.store("b", "");
  first.store("a", "2");
  AutotuneCache second((folder / "deep").string(), "file");
  ASSERT_NE(second.find("a"), nullptr);
  EXPECT_EQ(*second.find("a"), "2");
  ASSERT_NE(second.find("b"), nullptr);
  EXPECT_EQ(*second.find("b"), "");
  // No other files remain in the folder.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "deep"), {}), 1);
}

TEST_F(ChoicesFile, KeepsWhatOthersWroteMeanwhile) {
  AutotuneCache first(folder.string(), "file"), second(folder.string(), "file");
  EXPECT_EQ(first.find("b"), nullptr);
  EXPECT_EQ(second.find("a"), nullptr);
  first.store("a", "1");
  second.store("b", "2");
  AutotuneCache third(folder.string(), "file");
  EXPECT_NE(third.find("a"), nullptr);
  EXPECT_NE(third.find("b"), nullptr);
}

TEST_F(ChoicesFile, WithoutAFolderKeepsInMemory) {
  AutotuneCache choices("", "file");
  choices.store("a", "1");
  ASSERT_NE(choices.find("a"), nullptr);
  EXPECT_FALSE(fs::exists("/file"));
}

TEST_F(ChoicesFile, IgnoresWhatIsNotOurs) {
  fs::create_directories(folder);
  for (const char* text :
       {"", "\n", "mpc choices 2\na\t1\t0\n", "mpc choices 1\na\t1\n\t\t\n\t\n",
        "mpc choices 1\nno tab at all\na\t1\t0123456789abcdef"}) {
    std::ofstream(folder / "file", std::ios::binary) << text;
    AutotuneCache choices(folder.string(), "file");
    EXPECT_EQ(choices.find("a"), nullptr) << text;
    EXPECT_EQ(choices.find(""), nullptr) << text;
  }
  fs::remove(folder / "file");
  fs::create_directories(folder / "file");
  AutotuneCache choices(folder.string(), "file");
  EXPECT_EQ(choices.find("a"), nullptr);
  choices.store("a", "1");
  EXPECT_NE(choices.find("a"), nullptr);
}

// With concurrent writers the file is always complete.
TEST_F(ChoicesFile, ManyProcessesAtOnce) {
  constexpr int kProcesses = 4, kKeys = 60;
  AutotuneCache(folder.string(), "file").store("first", "0");
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 0; i < kKeys; ++i) {
        AutotuneCache choices(folder.string(), "file");
        if (!choices.find("first")) ::_exit(1);
        choices.store(std::to_string(process) + "." + std::to_string(i), "x");
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // With two concurrent writers, the entry of one may be lost, but never both.
  AutotuneCache choices(folder.string(), "file");
  int found = 0;
  for (int process = 0; process < kProcesses; ++process)
    for (int i = 0; i < kKeys; ++i)
      found += choices.find(std::to_string(process) + "." +
                            std::to_string(i)) != nullptr;
  EXPECT_GE(found, kKeys);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
}

TEST(FileName, ReplacesSpecialCharacters) {
  EXPECT_EQ(file_name_of("NVIDIA H200/../x-1.2"), "NVIDIA_H200_.._x-1.2");
}

}  // namespace
}  // namespace mpc::kernels
