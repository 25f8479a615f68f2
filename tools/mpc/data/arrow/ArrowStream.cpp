//===- ArrowStream.cpp - Read and write with Apache Arrow -----------------===//

#include "tools/mpc/data/arrow/ArrowStream.h"
#include "tools/mpc/Command.h"

#include <cstring>
#include <dlfcn.h>
#include <filesystem>

using namespace mpc::tool;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

namespace {
/// The functions of libmpcarrow.
struct ArrowLibrary {
  mpc::arrow::OpenFile *openFile;
  mpc::arrow::FormatParquet *formatParquet;
};
} // namespace

/// The folder of the program or library that contains this function.
static fs::path ownFolder() {
  std::error_code error;
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&ownFolder), &info) && info.dli_fname) {
    // A library: the name of a program is what its caller called it.
    const fs::path file = info.dli_fname;
    if (file.is_absolute() && file.filename().string().rfind("lib", 0) == 0)
      return fs::canonical(file, error).parent_path();
  }
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

/// Where the library is: in mpc/ next to libmpctrain, or in ../lib/mpc/ from
/// the folder of mpc.
static std::string findLibrary() {
  const fs::path folder = ownFolder();
  std::error_code error;
  const fs::path near = folder / "mpc" / mpc::arrow::kLibrary;
  return fs::exists(near, error)
             ? near.string()
             : (folder.parent_path() / "lib" / "mpc" / mpc::arrow::kLibrary)
                   .string();
}

static ArrowLibrary openLibrary(const std::string &what) {
  const std::string file = findLibrary();
  auto refuse = [&](const std::string &why) {
    throw Failure(Usage, what + " needs Apache Arrow, but " + why +
                             "; build mpc where Arrow or the Python package "
                             "pyarrow is installed, or use .npz or .csv files");
  };
  std::error_code error;
  if (!fs::exists(file, error))
    refuse("this mpc was installed without it: there is no " + file);
  void *handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    refuse(std::string("it cannot be loaded: ") + dlerror());
  auto find = [&](const char *name, auto *&function) {
    void *address = dlsym(handle, name);
    if (!address)
      refuse(file + " is from another version of mpc: it lacks " + name);
    std::memcpy(&function, &address, sizeof(address));
  };
  ArrowLibrary found;
  find(mpc::arrow::kOpenFile, found.openFile);
  find(mpc::arrow::kFormatParquet, found.formatParquet);
  return found;
}

/// Loads the library; `what` says for what it is needed: "reading 'x.parquet'".
static const ArrowLibrary &loadArrow(const std::string &what) {
  static const ArrowLibrary library = openLibrary(what);
  return library;
}

void mpc::tool::requireArrow(const std::string &what) { (void)loadArrow(what); }

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

static constexpr size_t kMaxMessage = 1024;

/// The first line of a message of Arrow.
static std::string firstLine(const char *message) {
  std::string text = message ? message : "";
  text = text.substr(0, text.find('\n'));
  return text.empty() ? "it is damaged" : text;
}

ArrowStream::ArrowStream(const std::string &path, int64_t column) : path(path) {
  char message[kMaxMessage] = {};
  if (!loadArrow("reading '" + path + "'")
           .openFile(path.c_str(), column, &stream, &rows, message,
                     sizeof(message)))
    throw Failure(InputOutput,
                  "cannot read '" + path + "': " + firstLine(message));
}

void ArrowStream::check(int error) {
  if (error != 0)
    throw Failure(InputOutput, "cannot read '" + path + "': " +
                                   firstLine(stream.get_last_error(&stream)));
}

void ArrowStream::readSchema(ArrowSchema &schema) {
  check(stream.get_schema(&stream, &schema));
}

bool ArrowStream::readNext(ArrowOwned<ArrowArray> &rows) {
  rows.reset();
  check(stream.get_next(&stream, &rows));
  return rows.release != nullptr;
}

std::string mpc::tool::formatParquetFile(const std::string &path,
                                         ArrowOwned<ArrowArrayStream> &stream) {
  std::string file;
  auto take = [](void *context, const char *bytes, size_t size) {
    static_cast<std::string *>(context)->assign(bytes, size);
  };
  char message[kMaxMessage] = {};
  if (!loadArrow("writing '" + path + "'")
           .formatParquet(&stream, take, &file, message, sizeof(message)))
    throw Failure(InputOutput,
                  "cannot write '" + path + "': " + firstLine(message));
  return file;
}
