// Single arrays: every format that NumPy writes, and malformed headers.

#include "test/tools/npz/files.h"
#include "tools/npz/Npy.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <zip.h>

#include <cstring>
#include <random>
#include <sys/resource.h>

using namespace mpc::npz;
using namespace mpc::test;

namespace {

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

// Malformed headers; the sanitizer build checks the memory accesses of the
// parser.
TEST(Npy, HandlesMalformedHeaders) {
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
            "it has 4 bytes, which does not match its shape");
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

// The number of dimensions is limited, because each costs time for every
// element.
TEST(Npy, HasFewDimensions) {
  auto shapeOf = [](size_t rank) {
    std::string shape;
    for (size_t i = 0; i < rank; ++i)
      shape += "1,";
    std::string header =
        "{'descr': '|u1', 'fortran_order': True, 'shape': (" + shape + "), }";
    std::vector<char> bytes = npyFile(header, "x", 2);
    // Longer than npyFile can make it.
    put(bytes, 8, static_cast<uint32_t>(header.size()));
    return bytes;
  };
  Array array;
  std::string what;
  EXPECT_TRUE(parseNpy(shapeOf(64), array, what)) << what;
  EXPECT_FALSE(parseNpy(shapeOf(300000), array, what));
  EXPECT_EQ(what, "it has more than 64 dimensions, the maximum");
}

TEST(Npy, AlignsTheData) {
  std::string bytes = formatNpy(makeArray("x", "float32", {3, 4}));
  EXPECT_EQ((bytes.size() - 48) % 64, 0u);
  EXPECT_EQ(bytes[bytes.size() - 49], '\n');
}

} // namespace
