//===- Package.h - A package, read without running it -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PACKAGE_H
#define MPC_TOOLS_MPC_PACKAGE_H

#include "runtime/src/program/program_generated.h"

#include <string>
#include <string_view>
#include <vector>

namespace mpc::tool {

/// The tables of a package. Checked for being tables, and against the seal;
/// what their numbers point at is for the runtime to check.
class Package {
public:
  /// Throws a Failure if the file cannot be read or is no whole package.
  explicit Package(const std::string &path);

  const program::Program &root() const {
    return *flatbuffers::GetRoot<program::Program>(bytes.data());
  }
  uint64_t size() const { return bytes.size(); }

  /// What lies in a segment; "" if that is not in the file.
  std::string_view contentOf(const program::Segment &segment) const {
    std::string_view file(reinterpret_cast<const char *>(bytes.data()),
                          bytes.size());
    bool inside = segment.offset() <= file.size() &&
                  segment.size() <= file.size() - segment.offset();
    return inside ? file.substr(segment.offset(), segment.size()) : "";
  }

  /// Why this machine cannot run it; "" if it can.
  const std::string &obstacle() const { return whyNot; }

private:
  std::vector<uint8_t> bytes;
  std::string whyNot;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PACKAGE_H
