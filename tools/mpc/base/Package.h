//===- Package.h - Read a package without running it ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_PACKAGE_H
#define MPC_TOOLS_MPC_BASE_PACKAGE_H

#include "runtime/src/base/files.h"
#include "runtime/src/program/program_generated.h"

#include <string>
#include <string_view>

namespace mpc::tool {

/// The tables of a package, after the checks that the runtime makes before it
/// runs one.
class Package {
public:
  /// Throws a Failure if the file cannot be read or is not a complete package.
  explicit Package(const std::string &path);

  const program::Program &root() const {
    return *flatbuffers::GetRoot<program::Program>(file.data());
  }
  uint64_t size() const { return file.size(); }

  /// The bytes of a segment.
  std::string_view contentOf(const program::Segment &segment) const {
    std::string_view bytes(reinterpret_cast<const char *>(file.data()),
                           file.size());
    return bytes.substr(segment.offset(), segment.size());
  }

  /// The precision report of a device, as JSON: its own or the one that all
  /// devices share. If the package has neither, returns the first report, or
  /// "".
  std::string_view report(std::string_view device) const;

  /// Why this machine cannot run the package; "" if it can.
  const std::string &obstacle() const { return whyNot; }

private:
  runtime::Memory file;
  std::string whyNot;
};

/// True if the file begins like a package, complete or not.
bool isPackage(const std::string &path);

/// Throws a Failure if `path` is a package; for commands that expect a model.
/// `command` is the command that was run; if empty, advises to train.
void refusePackage(const std::string &path, const std::string &command = "");

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_PACKAGE_H
