//===- TomlFile.h - Files in TOML that users write --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OPTIONS_TOMLFILE_H
#define MPC_TOOLS_MPC_OPTIONS_TOMLFILE_H

#include <toml++/toml.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// A parsed file. Errors are Failures that name the file and the line.
class TomlFile {
public:
  /// Reads a file; `what` it is appears in messages ("policy"). Throws if the
  /// file cannot be read, is too large or is not TOML.
  TomlFile(const std::string &path, const std::string &what);

  const toml::table &table() const { return root; }

  /// Throws the error `why` at a node.
  [[noreturn]] void refuse(const toml::node &node,
                           const std::string &why) const;

  /// Throws if `table` has a key that is not `known`.
  void checkKeys(const toml::table &table,
                 const std::vector<std::string> &known) const;

  /// Throws if the file does not state this version.
  void checkVersion(int64_t supported) const;

private:
  void checkSize(const std::string &text) const;

  const std::string path, what;
  toml::table root;
};

/// Quotes text as a basic string of TOML.
std::string quoteToml(const std::string &text);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_TOMLFILE_H
