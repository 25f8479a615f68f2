//===- ListCheckpoints.cpp - The checkpoints of a folder ------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/checkpoints/Checkpoints.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

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
