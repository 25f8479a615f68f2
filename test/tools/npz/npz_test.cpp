// NumPy's files: what comes back is what was written, and damage is noticed.

#include "tools/npz/Npy.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

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
            "it has 0 bytes, which is not what its shape says");
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
                      "': out of memory for the 67108992 bytes of array "
                      "'tokens'");
}

TEST(Npy, AlignsTheData) {
  std::string bytes = formatNpy(makeArray("x", "float32", {3, 4}));
  EXPECT_EQ((bytes.size() - 48) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 49], '\n');
}

} // namespace
