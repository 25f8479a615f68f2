#include "test/tools/sync_log.h"

#include <sys/syscall.h>
#include <unistd.h>

std::vector<std::string> &mpc::test::syncLog() {
  static std::vector<std::string> log;
  return log;
}

// Symbols of the executable take precedence over those of the C library.
extern "C" {
int fsync(int file) {
  char path[4096];
  std::string link = "/proc/self/fd/" + std::to_string(file);
  ssize_t size = readlink(link.c_str(), path, sizeof(path));
  if (size > 0)
    mpc::test::syncLog().push_back("sync " + std::string(path, size));
  return static_cast<int>(syscall(SYS_fsync, file));
}

int rename(const char *from, const char *to) noexcept {
  mpc::test::syncLog().push_back(std::string("rename ") + from + " " + to);
  return static_cast<int>(syscall(SYS_rename, from, to));
}
}
