// Archives of arrays: reading returns what was written, and damage is
// detected.

#include "test/fuzz/replay.h"
#include "test/fuzz/targets.h"
#include "test/tools/npz/files.h"
#include "test/tools/sync_log.h"
#include "tools/npz/Npy.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <zip.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace mpc::npz;
using namespace mpc::test;

namespace {

TEST(Npz, ReadsWhatItWrote) {
  std::string path = temporaryPath("round-trip.npz");
  write(path, someArrays());
  Arrays arrays = read(path), expected = someArrays();
  ASSERT_EQ(arrays.size(), expected.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    EXPECT_EQ(arrays[i].name, expected[i].name);
    EXPECT_EQ(typeText(arrays[i]), typeText(expected[i]));
    EXPECT_EQ(arrays[i].data, expected[i].data);
  }
  write(temporaryPath("again.npz"), someArrays());
  EXPECT_EQ(readBytes(path), readBytes(temporaryPath("again.npz")));
}

TEST(Npz, NamesTheFileInErrors) {
  std::string path = temporaryPath("missing.npz");
  try {
    read(path);
    FAIL() << "a missing file was read";
  } catch (const FileError &error) {
    EXPECT_EQ(error.what(), "cannot read '" + path + "': no such file");
  }
  EXPECT_THROW(write(testing::TempDir() + "/no/such/folder.npz", {}),
               FileError);
}

// Truncated anywhere, the file lacks its directory, which is at the end.
TEST(Npz, RefusesTruncation) {
  std::string path = temporaryPath("whole.npz");
  write(path, someArrays());
  std::vector<char> whole = readBytes(path);
  std::string cut = temporaryPath("cut.npz");
  for (size_t size = 0; size < whole.size(); size += 5) {
    writeBytes(cut, {whole.begin(), whole.begin() + size});
    EXPECT_THROW(read(cut), FileError) << "at " << size;
  }
}

TEST(Npz, SurvivesFlippedBits) {
  std::string path = temporaryPath("good.npz");
  write(path, someArrays());
  std::vector<char> good = readBytes(path);
  std::string bad = temporaryPath("bad.npz");
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<char> bytes = good;
    for (int flip = 0; flip <= round % 3; ++flip)
      bytes[random() % bytes.size()] ^= 1 << random() % 8;
    writeBytes(bad, bytes);
    try {
      for (const Array &array : read(bad))
        EXPECT_EQ(array.data.size(), array.count() * array.elementSize());
    } catch (const FileError &) {
    }
  }
}

TEST(Npz, NamesTheArrayThatExceedsMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "AddressSanitizer takes more address space than any limit";
#endif
  std::string path = temporaryPath("large.npz");
  write(path, {makeArray("tokens", "uint8", {64 << 20})});
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur =
      static_cast<rlim_t>(pages) * sysconf(_SC_PAGESIZE) + (32 << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  std::string said;
  try {
    read(path);
  } catch (const MemoryError &error) {
    said = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  std::remove(path.c_str());
  // The header of an array comes with it.
  EXPECT_EQ(said, "cannot read '" + path +
                      "': out of memory for the 67.1 MB of array "
                      "'tokens'");
}

// The contents must reach the disk before the name.
TEST(Npz, IsOnTheDiskBeforeItHasItsName) {
  char folder[] = "/tmp/mpc-npz-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  std::string path = std::string(folder) + "/x.npz";
  std::vector<std::string> &log = mpc::test::syncLog();
  log.clear();
  write(path, someArrays());
  std::string temporary = path + ".tmp-" + std::to_string(getpid());
  std::vector<std::string> wanted = {"sync " + temporary,
                                     "rename " + temporary + " " + path,
                                     std::string("sync ") + folder};
  ASSERT_GE(log.size(), wanted.size());
  EXPECT_EQ(std::vector<std::string>(log.end() - wanted.size(), log.end()),
            wanted);
  std::remove(path.c_str());
  rmdir(folder);
}

// Arrays that are not requested are not read.
TEST(Npz, ReadsWhatIsAskedFor) {
  std::string path = temporaryPath("some.npz");
  Arrays arrays = someArrays();
  write(path, arrays);
  Reader reader(path);
  EXPECT_EQ(reader.names(),
            (std::vector<std::string>{"images", "labels", "scalar", "none"}));
  EXPECT_EQ(typeText(reader.header("images")), "float32[5,1,2,2]");
  EXPECT_EQ(reader.read("labels").data, arrays[1].data);
  EXPECT_FALSE(reader.has("nothing"));
}

TEST(Npz, StreamsPlainArrays) {
  std::string path = temporaryPath("stream.npz");
  Arrays arrays = someArrays();
  write(path, arrays);
  Reader reader(path);
  for (const Array &array : arrays) {
    std::vector<char> bytes;
    EXPECT_TRUE(reader.stream(array.name, [&](const char *data, size_t size) {
      bytes.insert(bytes.end(), data, data + size);
    }));
    EXPECT_EQ(bytes, array.data);
  }
}

TEST(Npz, ReadsTheLastOfDuplicateNames) {
  Arrays arrays = {makeArray("x", "uint8", {1}), makeArray("y", "uint8", {2})};
  std::string path = temporaryPath("twice.npz");
  write(path, arrays);
  std::vector<char> bytes = readBytes(path);
  // Renames "y.npy" to a second "x.npy", in its entry and in the directory.
  for (char &c : bytes)
    if (c == 'y' && std::memcmp(&c, "y.npy", 5) == 0)
      c = 'x';
  writeBytes(path, bytes);
  Reader reader(path);
  EXPECT_EQ(reader.names(), std::vector<std::string>{"x"});
  EXPECT_EQ(typeText(reader.read("x")), "uint8[2]");
  EXPECT_EQ(read(path).size(), 1u);
}

TEST(Npz, KnowsWhatNumpyWrites) {
  EXPECT_EQ(readError(archiveOf({"x.npy"}, 1000, ZIP_CM_DEFLATE), "x"), "");
  if (!zip_compression_method_supported(ZIP_CM_BZIP2, 1))
    GTEST_SKIP() << "libzip was built without bzip2";
  EXPECT_EQ(readError(archiveOf({"x.npy"}, 1000, ZIP_CM_BZIP2), "x"),
            "array 'x' is compressed in a way that NumPy does not use; write "
            "it with numpy.savez or numpy.savez_compressed");
}

// The seeds of fuzzing and what it found.
TEST(Npz, Corpus) {
  mpc::fuzz::replay(MPC_FUZZ_CORPORA "/npz", mpc::fuzz::npz);
}

} // namespace
