//===- TemporaryFolder.cpp - Files for external tools ---------------------===//

#include "compiler/Target/TemporaryFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace mpc;

static Error failure(const Twine &what, std::error_code code) {
  return createStringError(code, "cannot " + what + ": " + code.message());
}

Expected<TemporaryFolder> TemporaryFolder::create(StringRef prefix) {
  SmallString<128> parent, folder;
  sys::path::system_temp_directory(/*erasedOnReboot=*/true, parent);
  if (std::error_code code = sys::fs::createUniqueDirectory(prefix, folder))
    return failure("create a temporary folder in '" + parent +
                       "' (TMPDIR names another)",
                   code);
  return TemporaryFolder(std::string(folder));
}

TemporaryFolder::TemporaryFolder(TemporaryFolder &&other)
    : path(std::move(other.path)) {
  other.path.clear();
}

TemporaryFolder::~TemporaryFolder() {
  if (!path.empty())
    sys::fs::remove_directories(path);
}

std::string TemporaryFolder::pathOf(StringRef name) const {
  SmallString<128> file(path);
  sys::path::append(file, name);
  return std::string(file);
}

Error TemporaryFolder::write(StringRef name, StringRef bytes) const {
  std::string file = pathOf(name);
  std::error_code code;
  raw_fd_ostream stream(file, code);
  if (!code) {
    stream << bytes;
    stream.close();
    code = stream.error();
    stream.clear_error();
  }
  return code ? failure("write '" + file + "'", code) : Error::success();
}

Expected<std::string> TemporaryFolder::read(StringRef name) const {
  std::string file = pathOf(name);
  auto buffer = MemoryBuffer::getFile(file);
  if (!buffer)
    return failure("read '" + file + "'", buffer.getError());
  return (*buffer)->getBuffer().str();
}
