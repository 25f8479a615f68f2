//===- Npz.cpp - NumPy's .npz files ---------------------------------------===//
//
// An .npz file is a zip archive of .npy files. The format of those:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//===----------------------------------------------------------------------===//

#include "tools/npz/Npz.h"
#include "tools/npz/Npy.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <unistd.h>

using namespace mpc::npz;

namespace {
struct Discard {
  void operator()(zip_t *archive) const { zip_discard(archive); }
  void operator()(zip_file_t *file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, Discard>;
using ArchiveFile = std::unique_ptr<zip_file_t, Discard>;
} // namespace

[[noreturn]] static void fail(const std::string &path,
                              const std::string &what) {
  throw FileError("cannot read '" + path + "': " + what);
}

static Archive openArchive(const std::string &path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive)
    return archive;
  if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
    fail(path, "it is not a whole .npz file");
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string what = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (!what.empty())
    what[0] = std::tolower(static_cast<unsigned char>(what[0]));
  fail(path, what);
}

static uint64_t memberSize(zip_t *archive, uint64_t index,
                           const std::string &path, const std::string &name) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(archive, index, 0, &stat) != 0 ||
      !(stat.valid & ZIP_STAT_SIZE))
    fail(path, "array '" + name + "' has no size");
  return stat.size;
}

/// Reads one member whole. Memory grows with what really comes out, so that a
/// size that is a lie costs nothing.
static std::vector<char> readMember(zip_t *archive, uint64_t index,
                                    uint64_t size, const std::string &path,
                                    const std::string &name) {
  ArchiveFile file(zip_fopen_index(archive, index, 0));
  if (!file)
    fail(path, "array '" + name + "': " + zip_strerror(archive));

  constexpr uint64_t chunk = 16 << 20;
  std::vector<char> bytes;
  while (bytes.size() < size) {
    uint64_t old = bytes.size(), want = std::min(chunk, size - old);
    bytes.resize(old + want);
    zip_int64_t got = zip_fread(file.get(), bytes.data() + old, want);
    if (got <= 0)
      fail(path, "array '" + name + "' is damaged");
    bytes.resize(old + got);
  }
  // Only at the end of the file does libzip compare the checksum.
  char beyond;
  if (zip_fread(file.get(), &beyond, 1) != 0)
    fail(path, "array '" + name + "' is damaged");
  return bytes;
}

Arrays mpc::npz::read(const std::string &path) {
  Archive archive = openArchive(path);
  Arrays arrays;
  zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *member = zip_get_name(archive.get(), i, 0);
    std::string name = member ? member : "";
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      name.resize(name.size() - 4);
    uint64_t size = memberSize(archive.get(), i, path, name);
    std::string what;
    Array array;
    try {
      std::vector<char> bytes = readMember(archive.get(), i, size, path, name);
      if (!parseNpy(std::move(bytes), array, what))
        fail(path, "array '" + name + "': " + what);
    } catch (const std::bad_alloc &) {
      throw MemoryError("cannot read '" + path + "': out of memory for the " +
                        std::to_string(size) + " bytes of array '" + name +
                        "'");
    }
    array.name = std::move(name);
    arrays.push_back(std::move(array));
  }
  return arrays;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

[[noreturn]] static void failWrite(const std::string &path,
                                   const std::string &what) {
  throw FileError("cannot write '" + path + "': " + what);
}

/// Adds one array as numpy.savez does: stored, not deflated.
static void addMember(zip_t *archive, const Array &array,
                      const std::string &bytes, const std::string &path) {
  zip_source_t *source =
      zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
  if (!source)
    failWrite(path, zip_strerror(archive));
  std::string member = array.name + ".npy";
  zip_int64_t index =
      zip_file_add(archive, member.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    failWrite(path, zip_strerror(archive));
  }
  // 1980 is the beginning of time in zip files.
  constexpr zip_uint16_t firstDay = 1 << 5 | 1;
  if (zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, index, 0, firstDay, 0) != 0)
    failWrite(path, zip_strerror(archive));
}

void mpc::npz::write(const std::string &path, const Arrays &arrays) {
  std::string temporary = path + ".tmp-" + std::to_string(getpid());
  int code = 0;
  Archive archive(
      zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive)
    failWrite(path, std::strerror(errno));

  // The archive borrows them until it is closed.
  std::vector<std::string> members;
  members.reserve(arrays.size());
  for (const Array &array : arrays) {
    members.push_back(formatNpy(array));
    addMember(archive.get(), array, members.back(), path);
  }
  if (zip_close(archive.get()) != 0)
    failWrite(path, zip_strerror(archive.get()));
  (void)archive.release(); // Closed.

  if (std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string what = std::strerror(errno);
    std::remove(temporary.c_str());
    failWrite(path, what);
  }
}
