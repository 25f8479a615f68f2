//===- FolderLock.h - Lock on a checkpoint folder ---------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_FOLDERLOCK_H
#define MPC_TOOLS_MPC_CHECKPOINTS_FOLDERLOCK_H

#include <string>

namespace mpc::tool {

/// Keeps other runs from writing to a checkpoint folder. The kernel releases
/// the lock whenever the process ends. The file `.lock`, which names the
/// process, stays; its existence alone does not mean that the folder is locked.
class FolderLock {
public:
  FolderLock() = default;
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;
  ~FolderLock();

  /// Locks `folder`, which must exist, without waiting. If another process
  /// holds the lock, throws a Failure that names that process. If the file
  /// system does not support locks, only prints a note.
  void take(const std::string &folder);

private:
  int file = -1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_FOLDERLOCK_H
