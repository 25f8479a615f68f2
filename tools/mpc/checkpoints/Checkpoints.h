//===- Checkpoints.h - List and verify checkpoints --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_CHECKPOINTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_CHECKPOINTS_H

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

struct CheckpointInfo {
  std::string path;
  uint64_t bytes = 0;              ///< Total size of its files.
  std::string fault;               ///< "" if it is valid.
  std::optional<double> loss;      ///< Mean of the epoch so far, if known.
  std::optional<std::time_t> time; ///< When it was written.
};

/// Paths of the checkpoints `step-N` in a folder, oldest first. Throws a
/// Failure if the folder cannot be read.
std::vector<std::string> listCheckpoints(const std::string &folder);

/// Compares the files with the manifest: checkManifestAndSizes checks only
/// sizes, verifyCheckpoint also checksums and contents. Loading a checkpoint
/// that passes the latter will not find it damaged.
CheckpointInfo checkManifestAndSizes(const std::string &path);
CheckpointInfo verifyCheckpoint(const std::string &path);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_CHECKPOINTS_H
