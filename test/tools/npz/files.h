// Files of arrays, written by hand.
#ifndef MPC_TEST_TOOLS_NPZ_FILES_H
#define MPC_TEST_TOOLS_NPZ_FILES_H

#include "tools/npz/Npy.h"
#include "tools/npz/Npz.h"

#include <gtest/gtest.h>

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

namespace mpc::test {

using namespace npz;

inline std::string temporaryPath(const char *name) {
  return testing::TempDir() + "/" + name;
}

inline std::vector<char> readBytes(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void writeBytes(const std::string &path,
                       const std::vector<char> &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
}

inline Array makeArray(const char *name, const char *dtype,
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

inline Arrays someArrays() {
  return {makeArray("images", "float32", {5, 1, 2, 2}),
          makeArray("labels", "int64", {5}), makeArray("scalar", "uint8", {}),
          makeArray("none", "float64", {0, 3})};
}

/// A .npy file with this header and data.
inline std::vector<char> npyFile(std::string header, const std::string &data,
                                 char version = 1) {
  std::string bytes("\x93NUMPY", 6);
  bytes += version;
  bytes += '\0';
  bytes += static_cast<char>(header.size());
  bytes.append(version == 1 ? 1 : 3, '\0');
  bytes += header + data;
  return {bytes.begin(), bytes.end()};
}

template <typename Integer>
inline void put(std::vector<char> &bytes, size_t at, Integer value) {
  std::memcpy(&bytes[at], &value, sizeof(value));
}

/// A .npz file with an entry for each of `names`, all of which are one array of
/// `count` zeros, deflated or not.
inline std::vector<char> archiveOf(const std::vector<std::string> &names,
                                   size_t count, zip_int32_t method) {
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
inline std::vector<char> overlapped(std::vector<char> bytes) {
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

inline std::string readError(const std::vector<char> &bytes,
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

} // namespace mpc::test

#endif // MPC_TEST_TOOLS_NPZ_FILES_H
