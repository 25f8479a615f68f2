#include "kernels/cuda/autotune_cache.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace mpc::kernels {
namespace {

// Change it with the format: lines of other formats are ignored, never misread.
constexpr char kHeader[] = "mpc choices 1";
// Larger than the choices of any program; a larger file is not a cache file.
constexpr uintmax_t kMaxBytes = 16 << 20;

std::map<std::string, std::string> read_file(const std::string& path) {
  std::map<std::string, std::string> values;
  std::error_code failure;
  const uintmax_t bytes = std::filesystem::file_size(path, failure);
  if (failure || bytes > kMaxBytes) return values;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || line != kHeader) return values;
  while (std::getline(file, line)) {
    const size_t sum = line.rfind('\t');
    if (sum == std::string::npos ||
        digest_of(line.substr(0, sum)) != line.substr(sum + 1))
      continue;
    const size_t tab = line.find('\t');
    if (tab < sum)
      values[line.substr(0, tab)] = line.substr(tab + 1, sum - tab - 1);
  }
  return values;
}

std::string text_of(const std::map<std::string, std::string>& values) {
  std::string text = std::string(kHeader) + "\n";
  for (const auto& [key, value] : values) {
    const std::string line = key + "\t" + value;
    text += line + "\t" + digest_of(line) + "\n";
  }
  return text;
}

// Writes a temporary file and renames it, so that every reader sees a complete
// file.
void write_file(const std::string& path, const std::string& text) {
  std::string beside = path + ".XXXXXX";
  const int file = ::mkstemp(beside.data());
  if (file < 0) return;
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count =
        ::write(file, text.data() + written, text.size() - written);
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  const bool whole = ::close(file) == 0 && written == text.size();
  if (!whole || ::rename(beside.c_str(), path.c_str()) != 0)
    ::unlink(beside.c_str());
}

}  // namespace

AutotuneCache::AutotuneCache(const std::string& folder, const std::string& file)
    : folder_(folder), path_(folder.empty() ? "" : folder + "/" + file) {}

const std::string* AutotuneCache::find(const std::string& key) {
  if (!read_ && !path_.empty()) {
    // Choices already in memory are newer.
    for (auto& [known, value] : read_file(path_)) values_.emplace(known, value);
    read_ = true;
  }
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

void AutotuneCache::store(const std::string& key, const std::string& value) {
  values_[key] = value;
  if (path_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
  std::map<std::string, std::string> all = read_file(path_);
  for (const auto& [known, own] : values_) all[known] = own;
  write_file(path_, text_of(all));
}

AutotuneCache& AutotuneCaches::cache(const std::string& folder,
                                     const std::string& file) {
  return files_.try_emplace(folder + "/" + file, folder, file).first->second;
}

std::optional<std::string> AutotuneCaches::find(const std::string& folder,
                                                const std::string& file,
                                                const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string* value = cache(folder, file).find(key);
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

void AutotuneCaches::store(const std::string& folder, const std::string& file,
                           const std::string& key, const std::string& value) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cache(folder, file).store(key, value);
}

std::shared_ptr<AutotuneCaches> AutotuneCaches::of_process() {
  static const auto store = std::make_shared<AutotuneCaches>();
  return store;
}

// FNV-1a. The checksum must detect a truncated or overwritten file, not a
// forgery.
std::string digest_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char byte : text) hash = (hash ^ byte) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash));
  return digits;
}

std::string file_name_of(const std::string& text) {
  std::string name;
  for (char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '.' || c == '-';
    name += plain ? c : '_';
  }
  return name;
}

}  // namespace mpc::kernels
