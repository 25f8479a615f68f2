//===- ProfileFile.cpp - The file that --profile writes -------------------===//

#include "tools/mpc/timing/ProfileFile.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <filesystem>

using namespace mpc::tool;

/// A timeline keeps at most this many runs of instructions: 24 bytes each.
static constexpr uint64_t kMaxEvents = 1 << 20;

bool ProfileFile::isTimeline(const std::string &path) {
  return std::filesystem::path(path).extension() == ".json";
}

CLI::Option *ProfileFile::addTo(CLI::App &command, std::string &path) {
  auto check = [](std::string &name) -> std::string {
    if (isTimeline(name) || std::filesystem::path(name).extension() == ".txt")
      return "";
    return "must end in .json (a timeline) or .txt (a table), but is '" + name +
           "'";
  };
  return command
      .add_option("--profile", path,
                  "Measure the time of each instruction: FILE.json is a "
                  "timeline for ui.perfetto.dev, FILE.txt a table")
      ->option_text("FILE")
      ->group("Profile")
      ->check(CLI::Validator(check, "", ""));
}

mpc_profile_options_t ProfileFile::optionsFor(Session &session,
                                              uint64_t calls) const {
  mpc_profile_options_t options = {};
  options.struct_size = sizeof(options);
  if (!isTimeline())
    return options;
  // The number of records tells how many calls may be kept.
  check(mpc_session_profile_start(session.get(), &options));
  check(mpc_session_profile_stop(session.get()));
  mpc_profile_info_t info = {};
  info.struct_size = sizeof(info);
  check(mpc_session_profile_info(session.get(), &info));
  options.timeline_calls =
      std::min(calls, std::max<uint64_t>(1, kMaxEvents / info.num_records));
  return options;
}

static std::string readTrace(const Session &session) {
  char *text = nullptr;
  check(mpc_session_profile_trace(session.get(), &text));
  std::string trace = text;
  mpc_string_free(text);
  return trace;
}

void ProfileFile::write(const Session &session, const TimeProfile &profile,
                        const std::string &title) const {
  if (!isTimeline())
    return writeFile(place, title + "\n" + formatProfile(profile, /*most=*/0));
  writeFile(place, readTrace(session));
  if (profile.droppedEvents > 0)
    note("the timeline has only the last calls; " +
         formatCount(profile.droppedEvents, "earlier event") + " did not fit");
}

std::string ProfileFile::describe() const {
  return path + (isTimeline() ? ": timeline; open it in ui.perfetto.dev"
                              : ": table with all rows");
}
