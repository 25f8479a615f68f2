//===- FolderLock.h - One run at a time in a folder -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_FOLDERLOCK_H
#define MPC_TOOLS_MPC_CHECKPOINTS_FOLDERLOCK_H

#include <string>

namespace mpc::tool {

/// Keeps other runs from writing to a folder of checkpoints. The kernel frees
/// the lock when the process ends, however it ends; the file `.lock`, which
/// names the process, stays and means nothing by itself.
class FolderLock {
public:
  FolderLock() = default;
  FolderLock(const FolderLock &) = delete;
  FolderLock &operator=(const FolderLock &) = delete;
  ~FolderLock();

  /// Locks `folder`, which exists, without waiting. Throws a Failure that names
  /// who holds it if another process does. Where the file system knows no locks
  /// it only says so.
  void take(const std::string &folder);

private:
  int file = -1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_FOLDERLOCK_H
