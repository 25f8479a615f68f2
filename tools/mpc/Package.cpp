//===- Package.cpp - A package, read without running it -------------------===//

#include "tools/mpc/Package.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Runtime.h"

#include "mpc/program.h"

#include <cerrno>
#include <cstring>
#include <fstream>

using namespace mpc::tool;

static std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  std::vector<uint8_t> bytes(size < 0 ? 0 : size);
  file.seekg(0);
  if (size < 0 || !file.read(reinterpret_cast<char *>(bytes.data()), size))
    throw Failure(InputOutput,
                  "cannot read '" + path + "': " + std::strerror(errno));
  return bytes;
}

Package::Package(const std::string &path) {
  // The runtime has the stricter eye. That this machine lacks something is no
  // reason not to look at the package.
  mpc_program_t *loaded = nullptr;
  mpc_status_t status = mpc_program_load_file(path.c_str(), &loaded);
  mpc_program_destroy(loaded);
  if (mpc_status_code(status) == MPC_INCOMPATIBLE) {
    whyNot = mpc_status_message(status);
    mpc_status_free(status);
  } else {
    check(status, path);
  }

  bytes = readFile(path);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  if (!verifier.VerifyBuffer<program::Program>(program::ProgramIdentifier()))
    throw Failure(Damaged,
                  whyNot.empty() ? "'" + path + "' is not a package" : whyNot);
}
