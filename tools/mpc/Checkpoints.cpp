//===- Checkpoints.cpp - Checkpoints, looked at from outside --------------===//

#include "tools/mpc/Checkpoints.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Text.h"

#include <nlohmann/json.hpp>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

using namespace mpc::tool;
namespace fs = std::filesystem;

/// The N of a name "step-N".
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
                  "cannot read '" + folder + "': " + error.message());
  for (const fs::directory_entry &entry : entries)
    if (auto step = stepOf(entry.path().filename().string()))
      found.emplace_back(*step, entry.path().string());
  std::sort(found.begin(), found.end());
  std::vector<std::string> paths;
  for (auto &[step, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

/// XXH3 of a file as 16 hexadecimal digits; "" if it cannot be read.
static std::string checksumOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return "";
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> state(
      XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> buffer(1 << 20);
  while (file) {
    file.read(buffer.data(), buffer.size());
    XXH3_64bits_update(state.get(), buffer.data(), file.gcount());
  }
  if (file.bad())
    return "";
  return format("%016llx", static_cast<unsigned long long>(
                               XXH3_64bits_digest(state.get())));
}

/// What is wrong with one file that the manifest names; "" if nothing is.
static std::string checkFile(const std::string &path, const std::string &name,
                             const nlohmann::json &record, bool checksums,
                             uint64_t &bytes) {
  std::error_code error;
  uint64_t size = fs::file_size(path, error);
  if (error)
    return "'" + name + "' is missing";
  bytes += size;
  const nlohmann::json *expected = nullptr;
  if (record.is_object() && record.contains("size"))
    expected = &record["size"];
  if (!expected || !expected->is_number_unsigned())
    return "the manifest has no size for '" + name + "'";
  if (size != expected->get<uint64_t>())
    return format("'%s' has %llu bytes, but should have %llu", name.c_str(),
                  static_cast<unsigned long long>(size),
                  static_cast<unsigned long long>(expected->get<uint64_t>()));
  if (checksums &&
      (!record.contains("xxh3") || record["xxh3"] != checksumOf(path)))
    return "'" + name + "' has another checksum than when it was written";
  return "";
}

static CheckpointInfo examine(const std::string &path, bool checksums) {
  CheckpointInfo info;
  info.path = path;
  // A FIFO of that name would block us for ever.
  std::error_code ignored;
  std::ifstream file;
  if (fs::is_regular_file(path + "/MANIFEST.json", ignored))
    file.open(path + "/MANIFEST.json");
  if (!file.is_open()) {
    info.fault = "has no manifest";
    return info;
  }
  nlohmann::json manifest =
      nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!manifest.is_object() || !manifest.contains("files") ||
      !manifest["files"].is_object()) {
    info.fault = "its manifest is damaged";
    return info;
  }
  for (const auto &[name, record] : manifest["files"].items()) {
    // A name with a folder in it would lead out of the checkpoint.
    std::string fault =
        name.find('/') != std::string::npos
            ? "its manifest is damaged"
            : checkFile(path + "/" + name, name, record, checksums, info.bytes);
    if (info.fault.empty())
      info.fault = fault;
  }
  for (const char *name :
       {"model.safetensors", "optimizer.safetensors", "state.json"})
    if (info.fault.empty() && !manifest["files"].contains(name))
      info.fault = std::string("the manifest does not name '") + name + "'";
  return info;
}

CheckpointInfo mpc::tool::glanceAtCheckpoint(const std::string &path) {
  return examine(path, /*checksums=*/false);
}

CheckpointInfo mpc::tool::verifyCheckpoint(const std::string &path) {
  return examine(path, /*checksums=*/true);
}
