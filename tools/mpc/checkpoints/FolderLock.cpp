//===- FolderLock.cpp - Lock on a checkpoint folder -----------------------===//

#include "tools/mpc/checkpoints/FolderLock.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace mpc::tool;

/// The description that the holder of the lock wrote, "" if not yet written.
static std::string readHolder(int file) {
  char text[512];
  ssize_t size = pread(file, text, sizeof(text), 0);
  std::string holder(text, size > 0 ? size : 0);
  return holder.substr(0, holder.find('\n'));
}

static std::string describeThisProcess() {
  char host[256] = {};
  (void)gethostname(host, sizeof(host) - 1);
  return format("process %d on %s\n", static_cast<int>(getpid()), host);
}

FolderLock::~FolderLock() {
  if (file >= 0)
    close(file);
}

void FolderLock::take(const std::string &folder) {
  std::string path = folder + "/.lock";
  // Open for writing: NFS requires that for exclusive locks.
  file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0)
    throw Failure(InputOutput,
                  "cannot write '" + path + "': " + std::strerror(errno));
  int result;
  do
    result = flock(file, LOCK_EX | LOCK_NB);
  while (result != 0 && errno == EINTR);
  if (result != 0 && errno == EWOULDBLOCK) {
    std::string holder = readHolder(file);
    throw Failure(InputOutput,
                  "'" + folder + "' is in use by another mpc train" +
                      (holder.empty() ? "" : " (" + holder + ")") +
                      "; wait until it ends, or use another --checkpoint-dir");
  }
  if (result != 0) {
    warn("cannot lock '" + path + "': " + std::strerror(errno) +
         "; make sure that no other run writes there");
    return;
  }
  // This is for messages only: the lock holds even if writing fails.
  std::string text = describeThisProcess();
  if (ftruncate(file, 0) != 0 || pwrite(file, text.data(), text.size(), 0) < 0)
    return;
}
