// NumPy's files: what comes back is what was written, and damage is noticed.

#include "test/fuzz/replay.h"
#include "test/fuzz/targets.h"
#include "test/tools/sync_log.h"
#include "tools/npz/Npy.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace mpc::npz;

namespace {

std::string temporaryPath(const char *name) {
  return testing::TempDir() + "/" + name;
}

std::vector<char> readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeBytes(const std::string &path, const std::vector<char> &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
}

Array makeArray(const char *name, const char *dtype,
                std::vector<int64_t> shape) {
  Array array;
  array.name = name;
  array.dtype = dtype;
  array.shape = std::move(shape);
  array.data.resize(array.count() * array.elementSize());
  for (size_t i = 0; i < array.data.size(); ++i)
    array.data[i] = static_cast<char>(i * 7 + 1);
  return array;
}

Arrays someArrays() {
  return {makeArray("images", "float32", {5, 1, 2, 2}),
          makeArray("labels", "int64", {5}), makeArray("scalar", "uint8", {}),
          makeArray("none", "float64", {0, 3})};
}

/// A .npy file with this header and data.
std::vector<char> npyFile(std::string header, const std::string &data,
                          char version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes.append(version == 1 ? 1 : 3, '\0');
  bytes += header + data;
  return {bytes.begin(), bytes.end()};
}

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

// Cut anywhere, the file lacks its directory, which stands at the end.
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

TEST(Npy, ReadsOtherByteAndIndexOrders) {
  Array array;
  std::string what;
  std::string bigEndian("\0\1\0\2\0\3\0\4", 8);
  ASSERT_TRUE(parseNpy(
      npyFile("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }",
              bigEndian),
      array, what))
      << what;
  std::vector<int16_t> values(4);
  std::memcpy(values.data(), array.data.data(), 8);
  EXPECT_EQ(values, (std::vector<int16_t>{1, 3, 2, 4}));
  EXPECT_EQ(typeText(array), "int16[2,2]");
}

TEST(Npy, ReadsFormats2And3) {
  for (char version : {2, 3}) {
    Array array;
    std::string what;
    EXPECT_TRUE(
        parseNpy(npyFile("{'shape':(),'fortran_order':False,'descr':'|b1'}\n",
                         "\1", version),
                 array, what))
        << what;
    EXPECT_EQ(typeText(array), "bool[]");
  }
}

// Headers that nobody wrote; the sanitizer build looks at what parsing touches.
TEST(Npy, SurvivesNonsense) {
  const std::string header =
      "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
  constexpr char likely[] = "0123456789'(),:{}L<>TrueFalse fiub";
  std::mt19937 random(1);
  unsigned parsed = 0;
  for (int round = 0; round < 50000; ++round) {
    std::string changed = header;
    for (int edit = 0; edit <= round % 3; ++edit) {
      size_t at = random() % changed.size();
      char letter = likely[random() % (sizeof(likely) - 1)];
      if (random() % 2)
        changed[at] = letter;
      else if (random() % 2)
        changed.insert(at, 1, letter);
      else
        changed.erase(at, 1);
    }
    Array array;
    std::string what;
    if (!parseNpy(npyFile(changed, std::string(random() % 25, 'x')), array,
                  what))
      continue;
    ++parsed;
    ASSERT_EQ(array.data.size(), array.count() * array.elementSize())
        << changed;
  }
  EXPECT_GT(parsed, 0u);
}

TEST(Npy, SaysWhatIsWrong) {
  auto fault = [](std::vector<char> bytes) {
    Array array;
    std::string what;
    EXPECT_FALSE(parseNpy(std::move(bytes), array, what));
    return what;
  };
  EXPECT_EQ(fault({}), "it is not in NumPy's format");
  EXPECT_EQ(fault(npyFile("{'descr': '|O', 'fortran_order': False, "
                          "'shape': (1,), }",
                          "12345678")),
            "its type '|O' is not supported");
  EXPECT_EQ(fault(npyFile("{'descr': [('a', '<f4')], 'fortran_order': False, "
                          "'shape': (1,), }",
                          "1234")),
            "its type 'structured' is not supported");
  EXPECT_EQ(fault(npyFile("{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (2,), }",
                          "1234")),
            "it has 4 bytes, which is not what its shape says");
  EXPECT_EQ(fault(npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': "
                          "(4294967296, 4294967296, 4294967296), }",
                          "")),
            "its shape has no size");
  EXPECT_EQ(fault(npyFile("{'descr': '<f4'}", "")),
            "it is not in NumPy's format");
  EXPECT_EQ(fault(npyFile("{'descr': '<f4', 'fortran_order': False, "
                          "'shape': (1,)} x",
                          "1234")),
            "it is not in NumPy's format");
}

TEST(Npz, SaysForWhatThereIsNoMemory) {
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

// The name must not reach the disk before what it names.
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

//===----------------------------------------------------------------------===//
// Files that cost more than they are
//===----------------------------------------------------------------------===//

template <typename Integer>
void put(std::vector<char> &bytes, size_t at, Integer value) {
  std::memcpy(&bytes[at], &value, sizeof(value));
}

/// A .npz file with an entry for each of `names`, all of which are one array of
/// `count` zeros, deflated or not.
std::vector<char> archiveOf(const std::vector<std::string> &names, size_t count,
                            zip_int32_t method) {
  std::string path = temporaryPath("archive.npz");
  std::remove(path.c_str());
  Array zeros = makeArray("x", "uint8", {static_cast<int64_t>(count)});
  std::fill(zeros.data.begin(), zeros.data.end(), 0);
  std::string content = formatNpy(zeros);
  zip_t *archive = zip_open(path.c_str(), ZIP_CREATE, nullptr);
  for (const std::string &name : names) {
    zip_source_t *source =
        zip_source_buffer(archive, content.data(), content.size(), 0);
    zip_int64_t index =
        zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    EXPECT_EQ(zip_set_file_compression(archive, index, method, 9), 0);
  }
  EXPECT_EQ(zip_close(archive), 0);
  return readBytes(path);
}

/// The bytes with every entry of the directory pointing at the first one.
std::vector<char> overlapped(std::vector<char> bytes) {
  const std::string mark = "PK\x01\x02";
  constexpr size_t offsetOfOffset = 42;
  auto at = bytes.begin();
  while ((at = std::search(at, bytes.end(), mark.begin(), mark.end())) !=
         bytes.end()) {
    put(bytes, at - bytes.begin() + offsetOfOffset, uint32_t(0));
    ++at;
  }
  return bytes;
}

std::string readError(const std::vector<char> &bytes,
                      const std::string &array = "") {
  std::string path = temporaryPath("hostile.npz");
  writeBytes(path, bytes);
  try {
    Reader reader(path);
    if (!array.empty())
      reader.read(array);
  } catch (const FileError &error) {
    return std::string(error.what()).substr(path.size() + 16);
  }
  return "";
}

TEST(Npz, EntriesDoNotOverlap) {
  std::vector<std::string> names;
  for (int i = 0; i < 9; ++i)
    names.push_back("x" + std::to_string(i) + ".npy");
  std::vector<char> whole = archiveOf(names, 100000, ZIP_CM_STORE);
  EXPECT_EQ(readError(whole, "x8"), "");
  // Without what the others held: nine arrays in the bytes of one.
  std::vector<char> bytes = overlapped(whole);
  std::string mark("PK\x01\x02", 4), end("PK\x05\x06", 4);
  size_t directory =
      std::search(bytes.begin(), bytes.end(), mark.begin(), mark.end()) -
      bytes.begin();
  std::string second("PK\x03\x04", 4);
  size_t first = std::search(bytes.begin() + 4, bytes.end(), second.begin(),
                             second.end()) -
                 bytes.begin();
  bytes.erase(bytes.begin() + first, bytes.begin() + directory);
  size_t tail =
      std::search(bytes.begin(), bytes.end(), end.begin(), end.end()) -
      bytes.begin();
  put(bytes, tail + 16, static_cast<uint32_t>(first));
  EXPECT_EQ(readError(bytes), "its arrays overlap");
}

// Nobody asked for it, so nobody pays for it.
TEST(Npz, ReadsWhatIsAskedFor) {
  std::string path = temporaryPath("some.npz");
  Arrays arrays = someArrays();
  write(path, arrays);
  Reader reader(path);
  EXPECT_EQ(reader.names(),
            (std::vector<std::string>{"images", "labels", "scalar", "none"}));
  Array header = reader.header("images");
  EXPECT_EQ(typeText(header), "float32[5,1,2,2]");
  EXPECT_TRUE(header.data.empty());
  EXPECT_EQ(reader.read("labels").data, arrays[1].data);
  EXPECT_FALSE(reader.has("nothing"));
}

TEST(Npz, TakesTheLastOfOneName) {
  Arrays arrays = {makeArray("x", "uint8", {1}), makeArray("y", "uint8", {2})};
  std::string path = temporaryPath("twice.npz");
  write(path, arrays);
  std::vector<char> bytes = readBytes(path);
  // "y.npy" becomes another "x.npy", in its place and in the directory.
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

// What fuzzing began with and what it found.
TEST(Npz, Corpus) {
  mpc::fuzz::replay(MPC_FUZZ_CORPORA "/npz", mpc::fuzz::npz);
}

// Every dimension was a step for every element.
TEST(Npy, HasFewDimensions) {
  auto shapeOf = [](size_t rank) {
    std::string shape;
    for (size_t i = 0; i < rank; ++i)
      shape += "1,";
    std::string header =
        "{'descr': '|u1', 'fortran_order': True, 'shape': (" + shape + "), }";
    std::vector<char> bytes = npyFile(header, "x", 2);
    // Longer than npyFile can say.
    put(bytes, 8, static_cast<uint32_t>(header.size()));
    return bytes;
  };
  Array array;
  std::string what;
  EXPECT_TRUE(parseNpy(shapeOf(64), array, what)) << what;
  EXPECT_FALSE(parseNpy(shapeOf(300000), array, what));
  EXPECT_EQ(what, "it has more than 64 dimensions, the most there may be");
}

TEST(Npy, AlignsTheData) {
  std::string bytes = formatNpy(makeArray("x", "float32", {3, 4}));
  EXPECT_EQ((bytes.size() - 48) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 49], '\n');
}

} // namespace
