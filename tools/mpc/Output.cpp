//===- Output.cpp - Files that a command is about to write ----------------===//

#include "tools/mpc/Output.h"
#include "tools/mpc/Command.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc::tool;

namespace fs = std::filesystem;

/// As many as Linux follows.
static constexpr int kMaxLinks = 40;

/// The name at the end of links, whether or not anything has it.
static fs::path followLinks(fs::path path, std::error_code &error) {
  for (int i = 0; i < kMaxLinks; ++i) {
    if (!fs::is_symlink(fs::symlink_status(path, error)))
      return path;
    // An absolute target replaces the folder.
    path = path.parent_path() / fs::read_symlink(path, error);
    if (error)
      return path;
  }
  error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return path;
}

std::string mpc::tool::findPlace(const std::string &path) {
  auto refuse = [&path](const std::string &what) {
    throw Failure(InputOutput, "cannot write '" + path + "': " + what);
  };
  std::error_code error;
  fs::path place = followLinks(path, error);
  // That nothing is there yet is no error.
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory)
    refuse(error.message());
  struct stat info;
  if (stat(place.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    refuse(S_ISDIR(info.st_mode) ? "it is a folder" : "it is no regular file");

  std::string folder = place.parent_path().string();
  if (folder.empty())
    folder = ".";
  if (stat(folder.c_str(), &info) != 0)
    refuse("folder '" + folder + "': " + std::strerror(errno));
  if (!S_ISDIR(info.st_mode))
    refuse("'" + folder + "' is no folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse("folder '" + folder + "': " + std::strerror(errno));
  return place.string();
}
