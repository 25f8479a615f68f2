//===- StepProfiler.cpp - Profile some steps of a training run ------------===//

#include "tools/mpc/training/console/StepProfiler.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

using namespace mpc::tool;

/// Rows of the table on the terminal; a file has all.
static constexpr size_t kPrintedRows = 20;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
struct StepRange {
  uint64_t first = 0; ///< 0: only the number of steps is given.
  uint64_t last = 0;  ///< Or the number of steps.
};
} // namespace

/// Reads a whole number of at least 1 without sign, and removes it from `text`.
static std::optional<uint64_t> takeNumber(std::string_view &text) {
  constexpr size_t mostDigits = 18;
  size_t length = std::min(text.find_first_not_of("0123456789"), text.size());
  if (length == 0 || length > mostDigits)
    return std::nullopt;
  uint64_t value =
      std::strtoull(std::string(text.substr(0, length)).c_str(), nullptr, 10);
  text.remove_prefix(length);
  return value > 0 ? std::optional<uint64_t>(value) : std::nullopt;
}

/// Parses "A-B" or "N".
static std::optional<StepRange> parseSteps(std::string_view text) {
  std::optional<uint64_t> first = takeNumber(text);
  if (!first)
    return std::nullopt;
  if (text.empty())
    return StepRange{0, *first};
  if (text.front() != '-')
    return std::nullopt;
  text.remove_prefix(1);
  std::optional<uint64_t> last = takeNumber(text);
  if (!last || !text.empty() || *last < *first)
    return std::nullopt;
  return StepRange{*first, *last};
}

void ProfileSettings::addTo(CLI::App &command) {
  CLI::Option *option = ProfileFile::addTo(command, file);
  command
      .add_option("--profile-steps", steps,
                  "Steps to measure: A-B, or the next N after a warm-up of " +
                      std::to_string(kProfileWarmUp) +
                      " (default: " + std::to_string(kProfileSteps) + ")")
      ->option_text("A-B")
      ->group("Profile")
      ->needs(option)
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            if (parseSteps(text))
              return "";
            return "must be a number of steps or a range A-B with A up to B, "
                   "counted from 1, but is '" +
                   text + "'";
          },
          "", ""));
}

//===----------------------------------------------------------------------===//
// Profiling
//===----------------------------------------------------------------------===//

StepProfiler::StepProfiler(const ProfileSettings &settings,
                           const std::vector<InputFile> &inputs)
    : settings(settings), file(settings.file, inputs) {}

void StepProfiler::plan(uint64_t before, uint64_t lastOfRun) {
  StepRange range = settings.steps.empty() ? StepRange{0, kProfileSteps}
                                           : *parseSteps(settings.steps);
  if (range.first == 0) {
    // A short run has a shorter warm-up.
    uint64_t count = lastOfRun > before ? lastOfRun - before : 0;
    uint64_t warmUp =
        std::min(kProfileWarmUp, count - std::min(count, range.last));
    first = before + warmUp + 1;
    last = std::min(lastOfRun, before + warmUp + range.last);
    return;
  }
  if (range.first <= before || range.first > lastOfRun)
    throw Failure(Usage, format("--profile-steps=%s, but this run goes from "
                                "step %" PRIu64 " to step %" PRIu64,
                                settings.steps.c_str(), before + 1, lastOfRun));
  first = range.first;
  last = std::min(range.last, lastOfRun);
}

void StepProfiler::reach(Session &session, const Program &program,
                         uint64_t step) {
  if (!hasRun && step + 1 == first && first <= last)
    start(session, program);
  else if (isRunning && step >= last)
    stop(session);
  reached = step;
}

void StepProfiler::start(Session &session, const Program &program) {
  // An update may come with a call of its own, and so may derived states.
  uint64_t calls = (last - first + 1) * (program.microBatches() + 2);
  const mpc_profile_options_t options = file.optionsFor(session, calls);
  check(mpc_session_profile_start(session.get(), &options));
  isRunning = hasRun = true;
}

void StepProfiler::stop(Session &session) {
  isRunning = false;
  check(mpc_session_profile_stop(session.get()));
}

void StepProfiler::pause(Session &session) {
  if (!isRunning)
    return;
  stop(session);
  isPaused = true;
}

void StepProfiler::resume(Session &session) {
  if (!isPaused)
    return;
  mpc_profile_options_t options = {};
  options.struct_size = sizeof(options);
  options.resume = 1;
  check(mpc_session_profile_start(session.get(), &options));
  isPaused = false;
  isRunning = true;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void StepProfiler::finish(Session &session, const SessionSettings &options,
                          bool json) {
  if (isRunning)
    stop(session);
  if (!hasRun)
    return warn("no step was profiled, so '" + settings.file +
                "' was not written");
  TimeProfile profile = readProfile(session, measureCeilings(session, options));
  uint64_t end = std::min(last, reached);
  std::string title =
      format("profile of steps %" PRIu64 " to %" PRIu64, first, end);
  file.write(session, profile, title);
  if (json) {
    nlohmann::ordered_json object;
    object["profile"] = toJson(profile);
    object["profile"]["first_step"] = first;
    object["profile"]["last_step"] = end;
    printJson(object);
    return;
  }
  printResult("\n%s\n%s%s\n", title.c_str(),
              formatProfile(profile, kPrintedRows).c_str(),
              file.describe().c_str());
}
