//===- Output.cpp - Files that a command is about to write ----------------===//

#include "tools/mpc/Output.h"
#include "tools/mpc/Command.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc::tool;

void mpc::tool::requireWritable(const std::string &path) {
  auto refuse = [&path](const std::string &what) {
    throw Failure(InputOutput, "cannot write '" + path + "': " + what);
  };
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    refuse(S_ISDIR(info.st_mode) ? "it is a folder" : "it is no regular file");

  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty())
    folder = ".";
  if (stat(folder.c_str(), &info) != 0)
    refuse("folder '" + folder + "': " + std::strerror(errno));
  if (!S_ISDIR(info.st_mode))
    refuse("'" + folder + "' is no folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse("folder '" + folder + "': " + std::strerror(errno));
}
