//===- Checkpoint.cpp - mpc checkpoint ------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/Checkpoints.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/training/CheckWeights.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

using namespace mpc::tool;
using Json = nlohmann::ordered_json;

namespace {
struct CheckpointCommand {
  std::string path;
  uint64_t keep = 3;
  bool json = false;
  bool allowNonFinite = false; ///< Accept weights that are not finite.
};
} // namespace

/// "2026-11-24 03:20" in local time, or "2026-11-24T02:20:11Z" for JSON.
static std::string formatTime(std::time_t time, bool isJson) {
  std::tm parts = {};
  (isJson ? gmtime_r : localtime_r)(&time, &parts);
  char text[32];
  size_t size =
      std::strftime(text, sizeof(text),
                    isJson ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d %H:%M", &parts);
  return std::string(text, size);
}

/// Prints a table or JSON. `sound` is the word for checkpoints without a fault.
static void print(const std::vector<CheckpointInfo> &checkpoints, bool json,
                  const char *sound) {
  for (const CheckpointInfo &info : checkpoints) {
    if (json) {
      Json object = {{"checkpoint", info.path},
                     {"bytes", info.bytes},
                     {sound, info.fault.empty()}};
      if (info.loss)
        object["loss"] = *info.loss;
      if (info.time)
        object["written"] = formatTime(*info.time, true);
      if (!info.fault.empty())
        object["fault"] = info.fault;
      printJson(object);
    } else {
      std::string details;
      if (info.time)
        details += formatTime(*info.time, false) + "  ";
      if (info.loss)
        details += format("train loss %.4f  ", *info.loss);
      printResult("%-32s %10s  %s%s\n", info.path.c_str(),
                  formatBytes(info.bytes).c_str(), details.c_str(),
                  info.fault.empty() ? sound : printable(info.fault).c_str());
    }
  }
}

/// Verifies the checksums of a checkpoint, or of all checkpoints of a folder,
/// and that the weights are finite.
static int verify(const CheckpointCommand &options) {
  std::vector<CheckpointInfo> checkpoints;
  if (isCheckpoint(options.path))
    checkpoints.push_back(verifyCheckpoint(options.path));
  else
    for (const std::string &path : listCheckpoints(options.path))
      checkpoints.push_back(verifyCheckpoint(path));
  if (checkpoints.empty())
    throw Failure(InputOutput, "'" + options.path + "' contains no checkpoint");
  for (CheckpointInfo &info : checkpoints)
    if (info.fault.empty() && !options.allowNonFinite)
      info.fault = findNonFiniteWeight(info.path);
  print(checkpoints, options.json, "good");
  bool damaged = std::any_of(
      checkpoints.begin(), checkpoints.end(),
      [](const CheckpointInfo &info) { return !info.fault.empty(); });
  return damaged ? Damaged : Ok;
}

/// Checks only whether all files exist with the right sizes.
static int list(const CheckpointCommand &options) {
  std::vector<CheckpointInfo> checkpoints;
  if (isCheckpoint(options.path))
    checkpoints.push_back(checkManifestAndSizes(options.path));
  for (const std::string &path : listCheckpoints(options.path))
    checkpoints.push_back(checkManifestAndSizes(path));
  if (checkpoints.empty())
    note("'" + options.path + "' contains no checkpoint");
  print(checkpoints, options.json, "complete");
  return Ok;
}

static int prune(const CheckpointCommand &options) {
  if (isCheckpoint(options.path))
    throw Failure(Usage, "'" + options.path +
                             "' is a checkpoint, not a folder of checkpoints");
  std::vector<std::string> before = listCheckpoints(options.path);
  check(mpc_checkpoint_prune(options.path.c_str(), options.keep), options.path);
  std::vector<std::string> after = listCheckpoints(options.path);
  Json removed = Json::array();
  for (const std::string &path : before)
    if (std::find(after.begin(), after.end(), path) == after.end())
      removed.push_back(path);
  if (options.json) {
    printJson(Json{{"removed", removed}, {"kept", after}});
    return Ok;
  }
  printResult("removed %s, kept %s\n",
              formatCount(removed.size(), "checkpoint").c_str(),
              formatCount(after.size()).c_str());
  return Ok;
}

Action mpc::tool::addCheckpoint(CLI::App &app) {
  auto options = std::make_shared<CheckpointCommand>();
  CLI::App *checkpoint =
      app.add_subcommand("checkpoint", "List, verify or prune checkpoints");
  checkpoint->require_subcommand(1);
  auto add = [&](const char *name, const char *description, const char *path) {
    CLI::App *command = checkpoint->add_subcommand(name, description);
    command->add_option("path", options->path, path)
        ->option_text("PATH")
        ->required();
    command->add_flag("--json", options->json, "Print JSON");
    return command;
  };
  CLI::App *listCommand =
      add("list", "List the checkpoints in a folder", "Folder of checkpoints");
  CLI::App *verifyCommand =
      add("verify", "Read checkpoints and compare checksums",
          "A checkpoint, or a folder of checkpoints");
  verifyCommand->add_flag("--allow-non-finite", options->allowNonFinite,
                          "Accept weights that are nan or infinite");
  CLI::App *pruneCommand = add("prune", "Remove all but the newest checkpoints",
                               "Folder of checkpoints");
  pruneCommand
      ->add_option("--keep", options->keep,
                   "Number of checkpoints to keep (default: 3)")
      ->option_text("N")
      ->check(Whole(1));

  return [options, listCommand, verifyCommand] {
    if (listCommand->parsed())
      return list(*options);
    if (verifyCommand->parsed())
      return verify(*options);
    return prune(*options);
  };
}
