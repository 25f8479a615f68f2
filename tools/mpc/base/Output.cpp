//===- Output.cpp - Output files of commands ------------------------------===//

#include "tools/mpc/base/Output.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Runtime.h"

#include "runtime/src/base/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc::tool;

namespace fs = std::filesystem;

/// The number of links that Linux follows.
static constexpr int kMaxLinks = 40;

/// The target of a chain of links, whether or not it exists.
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

/// True if both paths refer to the same existing file.
static bool isSameExistingFile(const std::string &a, const std::string &b) {
  struct stat one, other;
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/// Throws if writing would destroy an input or part of a checkpoint.
static void protect(const std::string &path, const fs::path &target,
                    const std::vector<InputFile> &inputs) {
  auto refuse = [&path](const std::string &what) {
    throw Failure(Usage, "cannot write '" + path + "': " + what +
                             "; choose another output path");
  };
  for (const InputFile &input : inputs) {
    if (!isSameExistingFile(target, input.path))
      continue;
    bool isNamed = input.path == path;
    std::string what = input.what;
    if (isNamed && what.back() == ',')
      what.pop_back();
    refuse("it is " + what + (isNamed ? "" : " '" + input.path + "'"));
  }
  std::string folder = target.parent_path().string();
  if (folder.empty())
    folder = ".";
  if (isCheckpoint(folder))
    refuse("it would lie in the checkpoint '" + folder + "'");
}

std::string mpc::tool::resolveOutputPath(const std::string &path,
                                         const std::vector<InputFile> &inputs) {
  auto refuse = [&path](const std::string &what) {
    throw Failure(InputOutput, "cannot write '" + path + "': " + what);
  };
  std::error_code error;
  fs::path target = followLinks(path, error);
  // It is not an error that the file does not exist yet.
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory)
    refuse(error.message());
  struct stat info;
  if (stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    refuse(S_ISDIR(info.st_mode) ? "it is a folder"
                                 : "it is not a regular file");

  std::string folder = target.parent_path().string();
  if (folder.empty())
    folder = ".";
  if (stat(folder.c_str(), &info) != 0)
    refuse("folder '" + folder + "': " + std::strerror(errno));
  if (!S_ISDIR(info.st_mode))
    refuse("'" + folder + "' is not a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    refuse("folder '" + folder + "': " + std::strerror(errno));
  protect(path, target, inputs);
  return target.string();
}

bool mpc::tool::isSameFile(const std::string &a, const std::string &b) {
  std::error_code error;
  fs::path one = fs::weakly_canonical(a, error);
  return !error && one == fs::weakly_canonical(b, error) && !error;
}

std::string mpc::tool::describeUnreadable(const std::string &path) {
  std::string cause;
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    cause = ": no such file";
  else if (fs::is_directory(status))
    cause = ": it is a folder";
  else if (access(path.c_str(), R_OK) != 0)
    cause = std::string(": ") + std::strerror(errno);
  return "cannot read '" + path + "'" + cause;
}

void mpc::tool::createFolders(const std::string &path) {
  auto refuse = [&path](int cause) {
    throw Failure(InputOutput,
                  "cannot create '" + path + "': " + std::strerror(cause));
  };
  // The folders to create, innermost first.
  std::vector<std::string> missing;
  struct stat info;
  for (fs::path at = path; !at.empty() && stat(at.c_str(), &info) != 0;
       at = at.parent_path()) {
    if (errno != ENOENT)
      refuse(errno);
    if (at.has_filename()) // "a/" is "a".
      missing.push_back(at.string());
  }
  if (missing.empty() && stat(path.c_str(), &info) == 0 &&
      !S_ISDIR(info.st_mode))
    throw Failure(InputOutput, "'" + path + "' is a file, not a folder");
  for (; !missing.empty(); missing.pop_back()) {
    const std::string &folder = missing.back();
    // Another run may have created it in the meantime.
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
      refuse(errno);
    mpc::runtime::Files &files = mpc::runtime::system_files();
    std::string parent = mpc::runtime::parent_folder(folder);
    check(mpc::runtime::sync_folder(files, parent), parent);
  }
}

void mpc::tool::writeFile(const std::string &target,
                          const std::string &content) {
  std::string temporary = target + ".tmp-" + std::to_string(getpid());
  std::FILE *file = std::fopen(temporary.c_str(), "w");
  bool done = file != nullptr;
  if (file) {
    done = std::fwrite(content.data(), 1, content.size(), file) ==
               content.size() &&
           std::fflush(file) == 0 && fsync(fileno(file)) == 0;
    int cause = errno;
    done &= std::fclose(file) == 0;
    if (!done && cause != 0)
      errno = cause;
  }
  if (!done || std::rename(temporary.c_str(), target.c_str()) != 0) {
    int cause = errno;
    std::remove(temporary.c_str());
    throw Failure(InputOutput,
                  "cannot write '" + target + "': " + std::strerror(cause));
  }
  std::string parent = mpc::runtime::parent_folder(target);
  check(mpc::runtime::sync_folder(mpc::runtime::system_files(), parent),
        parent);
}
