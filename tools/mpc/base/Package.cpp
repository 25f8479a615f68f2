//===- Package.cpp - Read a package without running it --------------------===//

#include "tools/mpc/base/Package.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Runtime.h"

#include "mpc/program.h"
#include "runtime/src/program/program.h"

#include <cstring>
#include <fstream>

using namespace mpc::tool;

Package::Package(const std::string &path) {
  check(runtime::read_file(runtime::system_files(), path, UINT64_MAX, &file),
        path);
  // The runtime's checks are stricter, and run on the same bytes. A package
  // that this machine cannot run can still be read.
  mpc_program_t *loaded = nullptr;
  mpc_status_t status =
      mpc_program_load_memory(file.data(), file.size(), &loaded);
  mpc_program_destroy(loaded);
  if (mpc_status_code(status) != MPC_INCOMPATIBLE) {
    check(status, path);
    return;
  }
  whyNot = mpc_status_message(status);
  mpc_status_free(status);
  // The tables of a newer format cannot be interpreted.
  if (root().format() > runtime::kPackageFormat)
    throw Failure(Damaged, path + ": " + whyNot);
}

std::string_view Package::report(std::string_view device) const {
  const program::Segment *first = nullptr;
  if (root().segments())
    for (const program::Segment *segment : *root().segments()) {
      if (segment->kind() != program::SegmentKind::Report)
        continue;
      bool isShared = !segment->target() || segment->target()->size() == 0;
      if (isShared || segment->target()->string_view() == device)
        return contentOf(*segment);
      if (!first)
        first = segment;
    }
  return first ? contentOf(*first) : "";
}

void mpc::tool::refusePackage(const std::string &path,
                              const std::string &command) {
  if (isPackage(path))
    throw Failure(Usage,
                  "'" + path + "' is already a compiled package; " +
                      (command.empty() ? "train it: mpc train " + path
                                       : command + " takes the ONNX model"));
}

bool mpc::tool::isPackage(const std::string &path) {
  constexpr size_t offset = 4;
  char begin[offset + flatbuffers::kFileIdentifierLength] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof(begin));
  return std::memcmp(begin + offset, program::ProgramIdentifier(),
                     flatbuffers::kFileIdentifierLength) == 0;
}
