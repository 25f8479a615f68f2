//===- OpenedFile.h - A data file -------------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_OPENEDFILE_H
#define MPC_TOOLS_MPC_DATA_SOURCES_OPENEDFILE_H

#include "tools/mpc/data/Elements.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// An open regular file. Errors are Failures that name its path.
class OpenedFile {
public:
  explicit OpenedFile(const std::string &path);
  OpenedFile(const OpenedFile &) = delete;
  OpenedFile &operator=(const OpenedFile &) = delete;
  ~OpenedFile();

  [[noreturn]] void fail(const std::string &what) const;

  /// Reads a part of the file into memory.
  std::vector<char> read(uint64_t offset, uint64_t bytes) const;

  /// The same, mapped if it is large.
  Elements take(uint64_t offset, uint64_t bytes) const;

  const std::string path;
  uint64_t size = 0;

private:
  int file = -1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_OPENEDFILE_H
