//===- Checkpoints.cpp - List and verify checkpoints ----------------------===//

#include "tools/mpc/checkpoints/Checkpoints.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/checkpoints/TrainProperties.h"
#include "tools/mpc/training/EpochLoss.h"

#include "runtime/src/base/guard.h"
#include "runtime/src/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sys/stat.h>

using namespace mpc::tool;
namespace fs = std::filesystem;

/// The N in a name "step-N".
static std::optional<uint64_t> stepOf(const std::string &name) {
  constexpr size_t prefix = 5;
  if (name.rfind("step-", 0) != 0 || name.size() == prefix ||
      name.find_first_not_of("0123456789", prefix) != std::string::npos)
    return std::nullopt;
  return std::strtoull(name.c_str() + prefix, nullptr, 10);
}

std::vector<std::string> mpc::tool::listCheckpoints(const std::string &folder) {
  std::error_code error;
  std::vector<std::pair<uint64_t, std::string>> found;
  fs::directory_iterator entries(folder, error);
  if (error)
    throw Failure(InputOutput,
                  error == std::errc::not_a_directory
                      ? "'" + folder + "' is a file, not a folder"
                      : "cannot read '" + folder + "': " + error.message());
  for (const fs::directory_entry &entry : entries)
    if (auto step = stepOf(entry.path().filename().string()))
      found.emplace_back(*step, entry.path().string());
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto &[step, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

/// Runs one of the runtime's checks on a checkpoint.
template <typename Question>
static CheckpointInfo ask(const std::string &path, Question question) {
  CheckpointInfo info;
  info.path = path;
  mpc_status_t status = mpc::runtime::guard([&] {
    return question(mpc::runtime::system_files(), path, &info.bytes);
  });
  if (status)
    info.fault = mpc_status_message(status);
  mpc_status_free(status);
  return info;
}

/// The loss that `mpc train` saved, if any.
static std::optional<double> readLoss(const std::string &path) {
  std::string file = path + "/" + mpc::runtime::kStateFile;
  mpc::runtime::Memory data;
  mpc::runtime::StateFile state;
  mpc_status_t status = mpc::runtime::guard([&] {
    mpc_status_t read = mpc::runtime::read_file(
        mpc::runtime::system_files(), file, mpc::runtime::kMaxState, &data);
    return read ? read
                : mpc::runtime::parse_state(
                      file, reinterpret_cast<const char *>(data.data()),
                      data.size(), &state);
  });
  bool isRead = status == nullptr;
  mpc_status_free(status);
  auto found = state.properties.find(kLoss);
  if (!isRead || found == state.properties.end())
    return std::nullopt;
  EpochLoss loss;
  loss.restore(found->second);
  return loss.mean();
}

CheckpointInfo mpc::tool::checkManifestAndSizes(const std::string &path) {
  CheckpointInfo info = ask(path, runtime::check_manifest_and_sizes);
  if (!info.fault.empty())
    return info;
  info.loss = readLoss(path);
  struct stat file;
  std::string manifest = path + "/" + runtime::kManifestFile;
  if (stat(manifest.c_str(), &file) == 0)
    info.time = file.st_mtime;
  return info;
}

CheckpointInfo mpc::tool::verifyCheckpoint(const std::string &path) {
  return ask(path, runtime::verify_checkpoint);
}
