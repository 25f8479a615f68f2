// Choices made by timing, stored in a file between processes. The file is a
// cache: if it cannot be read or written, or is damaged, choices are made
// again.

#ifndef MPC_KERNELS_CUDA_AUTOTUNE_CACHE_H_
#define MPC_KERNELS_CUDA_AUTOTUNE_CACHE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mpc::kernels {

// A file with one line per choice: key, value and a checksum of both, separated
// by tabs. Keys and values are printable text without tabs. Used by one thread
// at a time. Processes may share the file; each sees a complete version.
class AutotuneCache {
 public:
  // `folder` is created when a choice is stored. Empty: choices are not stored
  // in a file.
  AutotuneCache(const std::string& folder, const std::string& file);

  // The value, or null. Keys that are not in memory are looked up in the file,
  // which is read once.
  const std::string* find(const std::string& key);
  // Stores the choice in memory and in the file, together with choices that
  // other processes have added.
  void store(const std::string& key, const std::string& value);

 private:
  std::string folder_, path_;
  bool read_ = false;
  std::map<std::string, std::string> values_;
};

// The choices of several files, shared by the sessions of a process, so that a
// second session need not time anything even if no file can be written.
// Thread-safe.
class AutotuneCaches {
 public:
  // The store that all sessions use.
  static std::shared_ptr<AutotuneCaches> of_process();

  std::optional<std::string> find(const std::string& folder,
                                  const std::string& file,
                                  const std::string& key);
  void store(const std::string& folder, const std::string& file,
             const std::string& key, const std::string& value);

 private:
  AutotuneCache& cache(const std::string& folder, const std::string& file);

  std::mutex mutex_;
  std::map<std::string, AutotuneCache> files_;  // By path.
};

// A hash of the text as sixteen hexadecimal digits.
std::string digest_of(const std::string& text);

// A name that is valid on any file system, of letters, digits, '.', '-' and
// '_'.
std::string file_name_of(const std::string& text);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_AUTOTUNE_CACHE_H_
