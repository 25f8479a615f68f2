// Choices made by time, kept in a file between processes. The file is a cache:
// where it cannot be read, is damaged or cannot be written, choices are made
// again.

#ifndef MPC_KERNELS_CUDA_CHOICES_H_
#define MPC_KERNELS_CUDA_CHOICES_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace mpc::kernels {

// A file with one line per choice: key, value and a checksum of both, between
// tabs. Keys and values are printable text without tabs. One thread at a time;
// processes may share the file; each sees a complete version.
class Choices {
 public:
  // `folder` is made when something is kept. Empty: nothing outlives this.
  Choices(const std::string& folder, const std::string& file);

  // The value, or null. What is not kept in memory is looked for in the file,
  // which is read once.
  const std::string* find(const std::string& key);
  // Keeps it in memory, and in the file beside what others wrote meanwhile.
  void keep(const std::string& key, const std::string& value);

 private:
  std::string folder_, path_;
  bool read_ = false;
  std::map<std::string, std::string> values_;
};

// The choices of several files: what the sessions of a process share, so that
// the second one need not time anything even where no file can be written. Any
// thread.
class ChoiceStore {
 public:
  // The one that all sessions use.
  static std::shared_ptr<ChoiceStore> of_process();

  std::optional<std::string> find(const std::string& folder,
                                  const std::string& file,
                                  const std::string& key);
  void keep(const std::string& folder, const std::string& file,
            const std::string& key, const std::string& value);

 private:
  Choices& choices(const std::string& folder, const std::string& file);

  std::mutex mutex_;
  std::map<std::string, Choices> files_;  // By path.
};

// Sixteen hexadecimal digits, other ones for other texts unless they collide.
std::string digest_of(const std::string& text);

// A name that any file system takes, of letters, digits, '.', '-' and '_'.
std::string file_name_of(const std::string& text);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CHOICES_H_
