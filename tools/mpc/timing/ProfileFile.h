//===- ProfileFile.h - The file that --profile writes -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_PROFILEFILE_H
#define MPC_TOOLS_MPC_TIMING_PROFILEFILE_H

#include "tools/mpc/base/Output.h"
#include "tools/mpc/timing/TimeProfile.h"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace mpc::tool {

/// A file for a profile: FILE.json is a timeline, FILE.txt a table.
class ProfileFile {
public:
  /// Adds the option `--profile`, which sets `path`.
  static CLI::Option *addTo(CLI::App &command, std::string &path);

  /// Throws a Failure if the file cannot be written. `inputs` are files that
  /// must not be overwritten.
  ProfileFile(const std::string &path, const std::vector<InputFile> &inputs)
      : path(path), place(resolveOutputPath(path, inputs)) {}

  bool isTimeline() const { return isTimeline(path); }

  /// Options for a profile of about `calls` calls of a session, whose timeline
  /// takes a limited amount of memory.
  mpc_profile_options_t optionsFor(Session &session, uint64_t calls) const;

  /// Writes the profile of the session, which has stopped. `title` is the first
  /// line of a table.
  void write(const Session &session, const TimeProfile &profile,
             const std::string &title) const;

  /// "steps.json: timeline; open it in ui.perfetto.dev".
  std::string describe() const;

private:
  static bool isTimeline(const std::string &path);

  const std::string path;
  const std::string place; ///< See resolveOutputPath.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_PROFILEFILE_H
