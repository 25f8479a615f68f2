//===- Checkpoints.cpp - Verify checkpoints -------------------------------===//

#include "tools/mpc/checkpoints/Checkpoints.h"
#include "tools/mpc/checkpoints/TrainProperties.h"
#include "tools/mpc/training/EpochLoss.h"

#include "runtime/src/base/guard.h"
#include "runtime/src/checkpoint/checkpoint.h"

#include <optional>
#include <sys/stat.h>

using namespace mpc::tool;

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
