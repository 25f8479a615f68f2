//===- Package.h - A package, read without running it -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_PACKAGE_H
#define MPC_TOOLS_MPC_BASE_PACKAGE_H

#include "runtime/src/base/files.h"
#include "runtime/src/program/program_generated.h"

#include <string>
#include <string_view>

namespace mpc::tool {

/// The tables of a package, checked as before they are run: what is not as it
/// should be is not looked at.
class Package {
public:
  /// Throws a Failure if the file cannot be read or is no whole package.
  explicit Package(const std::string &path);

  const program::Program &root() const {
    return *flatbuffers::GetRoot<program::Program>(file.data());
  }
  uint64_t size() const { return file.size(); }

  /// What lies in a segment.
  std::string_view contentOf(const program::Segment &segment) const {
    std::string_view bytes(reinterpret_cast<const char *>(file.data()),
                           file.size());
    return bytes.substr(segment.offset(), segment.size());
  }

  /// Why this machine cannot run it; "" if it can.
  const std::string &obstacle() const { return whyNot; }

private:
  runtime::Memory file;
  std::string whyNot;
};

/// True if the file begins as packages do, whole or not.
bool isPackage(const std::string &path);

/// Throws a Failure if a package is given where a model is wanted.
void refusePackage(const std::string &path);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_PACKAGE_H
