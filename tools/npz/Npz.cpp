//===- Npz.cpp - NumPy's .npz files ---------------------------------------===//
//
// An .npz file is a zip archive of .npy files. The format of .npy files:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//
//===----------------------------------------------------------------------===//

#include "tools/npz/Npz.h"

#include "runtime/src/base/byte_text.h"
#include "tools/npz/Npy.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <sys/stat.h>
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

/// Describes a file that libzip cannot read. Only a file that begins like a zip
/// archive may be a truncated one.
static std::string describeOther(const std::string &path) {
  char begin[6] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  if (std::memcmp(begin, "PK", 2) == 0)
    return "it is not a complete .npz file: its end is missing or damaged";
  if (std::memcmp(begin, "\x93NUMPY", sizeof(begin)) == 0)
    return "it is one array (.npy); write named arrays with numpy.savez";
  return "it is not an .npz file; write named arrays with numpy.savez";
}

static Archive openArchive(const std::string &path) {
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive)
    return archive;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw FileError("'" + path + "' is a folder");
  bool isDamaged = code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS;
#ifdef ZIP_ER_TRUNCATED_ZIP // libzip 1.11
  isDamaged |= code == ZIP_ER_TRUNCATED_ZIP;
#endif
  if (isDamaged)
    fail(path, describeOther(path));
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string what = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (!what.empty())
    what[0] = std::tolower(static_cast<unsigned char>(what[0]));
  fail(path, what);
}

namespace {
/// An array according to the archive's directory.
struct Member {
  zip_uint64_t index;
  uint64_t size, packed; ///< Uncompressed, and in the file.
  uint16_t method;
};
} // namespace

struct Reader::File {
  std::string path;
  Archive archive;
  std::vector<std::string> names;
  std::map<std::string, Member> members;
};

static Member memberAt(zip_t *archive, zip_uint64_t index,
                       const std::string &path, const std::string &name) {
  constexpr zip_uint64_t wanted =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(archive, index, 0, &stat) != 0 ||
      (stat.valid & wanted) != wanted)
    fail(path, "array '" + name + "' has no size");
  return {index, stat.size, stat.comp_size, stat.comp_method};
}

/// Rejects entries that refer to the same bytes of the file, with which a small
/// file could contain any number of large arrays.
static void refuseOverlaps(const std::map<std::string, Member> &members,
                           uint64_t duplicates, const std::string &path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    fail(path, std::strerror(errno));
  uint64_t left = info.st_size;
  auto take = [&](uint64_t bytes) {
    if (bytes > left)
      fail(path, "its arrays overlap");
    left -= bytes;
  };
  take(duplicates);
  for (const auto &[name, member] : members)
    take(member.packed);
}

Reader::Reader(const std::string &path) : file(std::make_unique<File>()) {
  file->path = path;
  file->archive = openArchive(path);
  zip_t *archive = file->archive.get();
  uint64_t duplicates = 0;
  zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    const char *entry = zip_get_name(archive, i, 0);
    std::string name = entry ? entry : "";
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0)
      name.resize(name.size() - 4);
    Member member = memberAt(archive, i, path, name);
    auto [found, isNew] = file->members.try_emplace(name, member);
    if (isNew)
      file->names.push_back(name);
    else
      __builtin_add_overflow(duplicates, found->second.packed, &duplicates);
    found->second = member;
  }
  refuseOverlaps(file->members, duplicates, path);
}

Reader::Reader(Reader &&) noexcept = default;
Reader::~Reader() = default;

const std::vector<std::string> &Reader::names() const { return file->names; }

bool Reader::has(const std::string &name) const {
  return file->members.count(name) > 0;
}

static ArchiveFile openMember(zip_t *archive, const Member &member,
                              const std::string &path,
                              const std::string &name) {
  // Other methods have no useful limit: bzip2 may expand a byte to a megabyte.
  if (member.method != ZIP_CM_STORE && member.method != ZIP_CM_DEFLATE)
    fail(path, "array '" + name +
                   "' is compressed in a way that NumPy does not use; write it "
                   "with numpy.savez or numpy.savez_compressed");
  ArchiveFile file(zip_fopen_index(archive, member.index, 0));
  if (!file)
    fail(path, "array '" + name + "': " + zip_strerror(archive));
  return file;
}

/// Reads at most `size` more bytes of a member, as many as there are.
static std::vector<char> readPiece(zip_file_t *file, uint64_t size,
                                   const std::string &path,
                                   const std::string &name) {
  constexpr uint64_t chunk = 16 << 20;
  std::vector<char> bytes(std::min(chunk, size));
  zip_int64_t got = zip_fread(file, bytes.data(), bytes.size());
  if (got <= 0 && size > 0)
    fail(path, "array '" + name + "' is damaged");
  bytes.resize(std::max<zip_int64_t>(got, 0));
  return bytes;
}

/// Reads the next `size` bytes of a member. Memory grows with the bytes that
/// are actually read, so that a false size costs nothing.
static std::vector<char> readBytes(zip_file_t *file, uint64_t size,
                                   const std::string &path,
                                   const std::string &name) {
  std::vector<char> bytes;
  while (bytes.size() < size) {
    std::vector<char> piece = readPiece(file, size - bytes.size(), path, name);
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

/// Throws unless a member ends here. libzip compares the checksum only at its
/// end.
static void requireEnd(zip_file_t *file, const std::string &path,
                       const std::string &name) {
  char beyond;
  if (zip_fread(file, &beyond, 1) != 0)
    fail(path, "array '" + name + "' is damaged");
}

/// Reads and parses the header of an array. `bytes` receives what was read.
static NpyHeader readHeader(zip_file_t *file, const Member &member,
                            const std::string &path, const std::string &name,
                            std::vector<char> &bytes) {
  bytes = readBytes(file, std::min(member.size, kMaxNpyHeader), path, name);
  NpyHeader header;
  std::string what;
  if (!parseNpyHeader(bytes, header, what))
    fail(path, "array '" + name + "': " + what);
  header.array.name = name;
  return header;
}

ArrayType Reader::header(const std::string &name) const {
  const Member &member = file->members.at(name);
  ArchiveFile opened =
      openMember(file->archive.get(), member, file->path, name);
  std::vector<char> bytes;
  return readHeader(opened.get(), member, file->path, name, bytes).array;
}

uint64_t Reader::size(const std::string &name) const {
  return file->members.at(name).size;
}

bool Reader::stream(
    const std::string &name,
    const std::function<void(const char *, size_t)> &take) const {
  const Member &member = file->members.at(name);
  ArchiveFile opened =
      openMember(file->archive.get(), member, file->path, name);
  std::vector<char> bytes;
  NpyHeader header = readHeader(opened.get(), member, file->path, name, bytes);
  if (!header.isPlain)
    return false;
  if (member.size - header.begin != header.bytes)
    fail(file->path, "array '" + name + "': it has " +
                         std::to_string(member.size - header.begin) +
                         " bytes, which does not match its shape");
  take(bytes.data() + header.begin, bytes.size() - header.begin);
  for (uint64_t at = bytes.size(); at < member.size; at += bytes.size()) {
    bytes = readPiece(opened.get(), member.size - at, file->path, name);
    take(bytes.data(), bytes.size());
  }
  requireEnd(opened.get(), file->path, name);
  return true;
}

Array Reader::read(const std::string &name) const {
  const Member &member = file->members.at(name);
  Array array;
  std::string what;
  try {
    ArchiveFile opened =
        openMember(file->archive.get(), member, file->path, name);
    std::vector<char> bytes =
        readBytes(opened.get(), member.size, file->path, name);
    requireEnd(opened.get(), file->path, name);
    if (!parseNpy(std::move(bytes), array, what))
      fail(file->path, "array '" + name + "': " + what);
  } catch (const std::bad_alloc &) {
    throw MemoryError(
        "cannot read '" + file->path + "': out of memory for the " +
        mpc::ByteText(member.size).c_str() + " of array '" + name + "'");
  }
  array.name = name;
  return array;
}

Arrays mpc::npz::read(const std::string &path) {
  Reader reader(path);
  Arrays arrays;
  for (const std::string &name : reader.names())
    arrays.push_back(reader.read(name));
  return arrays;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

[[noreturn]] static void failWrite(const std::string &path,
                                   const std::string &what) {
  throw FileError("cannot write '" + path + "': " + what);
}

/// Adds one array like numpy.savez: stored, not deflated.
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
  // 1980-01-01, the earliest date in zip files, for reproducible output.
  constexpr zip_uint16_t firstDay = 1 << 5 | 1;
  if (zip_set_file_compression(archive, index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(archive, index, 0, firstDay, 0) != 0)
    failWrite(path, zip_strerror(archive));
}

/// Syncs the file or folder `path` to disk. Some file systems cannot sync a
/// folder and return EINVAL.
static bool syncPath(const std::string &path, int flags) {
  int file = ::open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0)
    return false;
  bool done = fsync(file) == 0 || ((flags & O_DIRECTORY) && errno == EINVAL);
  int cause = errno;
  ::close(file);
  errno = cause;
  return done;
}

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

void mpc::npz::write(const std::string &path, const Arrays &arrays) {
  std::string temporary = path + ".tmp-" + std::to_string(getpid());
  int code = 0;
  Archive archive(
      zip_open(temporary.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!archive)
    failWrite(path, std::strerror(errno));

  // The archive borrows these until it is closed.
  std::vector<std::string> members;
  members.reserve(arrays.size());
  for (const Array &array : arrays) {
    members.push_back(formatNpy(array));
    addMember(archive.get(), array, members.back(), path);
  }
  if (zip_close(archive.get()) != 0) {
    zip_error_t *error = zip_get_error(archive.get());
    if (zip_error_code_zip(error) == ZIP_ER_TMPOPEN)
      throw FileError("cannot create a file in the folder of '" + path +
                      "': " + std::strerror(zip_error_code_system(error)));
    failWrite(path, zip_strerror(archive.get()));
  }
  (void)archive.release(); // Closed.

  // The contents must reach the disk before the name.
  if (!syncPath(temporary, O_RDONLY) ||
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::string what = std::strerror(errno);
    std::remove(temporary.c_str());
    failWrite(path, what);
  }
  if (!syncPath(folderOf(path), O_RDONLY | O_DIRECTORY))
    failWrite(path, std::string("its folder: ") + std::strerror(errno));
}
