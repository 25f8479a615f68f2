// The file system calls that checkpoints need. They are virtual so that tests
// can make each of them fail.

#ifndef MPC_RUNTIME_SRC_BASE_FILES_H_
#define MPC_RUNTIME_SRC_BASE_FILES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mpc/status.h"
#include "runtime/src/base/memory.h"

namespace mpc::runtime {

// Each function does what the corresponding POSIX function does. It returns the
// result of that function (0 if it has none), or -errno on failure.
class Files {
 public:
  virtual ~Files() = default;
  virtual int open(const char* path, int flags, int mode);
  virtual int64_t read(int file, void* data, size_t size);
  virtual int64_t read_at(int file, void* data, size_t size, uint64_t offset);
  virtual int64_t write(int file, const void* data, size_t size);
  virtual int allocate(int file, uint64_t size);  // posix_fallocate
  virtual int sync(int file);
  virtual int close(int file);
  virtual int make_folder(const char* path);
  // `flags` are those of renameat2.
  virtual int rename(const char* from, const char* to, unsigned flags);
  virtual int remove_file(const char* path);
  virtual int remove_folder(const char* path);
  // The names in a folder, without "." and "..".
  virtual int list(const char* path, std::vector<std::string>* names);
};

// The real file system.
Files& system_files();

// MPC_IO: "cannot write 'path': no space left on device".
mpc_status_t io_error(const char* what, const std::string& path, int error);

// A regular file that is read. Anything else (a
// folder, a FIFO, a device) is rejected without blocking.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();
  mpc_status_t open(Files& files, const std::string& path);
  uint64_t size() const { return size_; }  // As of when it was opened.
  const std::string& path() const { return path_; }
  // Reads the next `size` bytes. MPC_IO if there are fewer.
  mpc_status_t read(void* data, uint64_t size);
  // The same from `offset` on. Several threads may call it at a time.
  mpc_status_t read_at(void* data, uint64_t size, uint64_t offset) const;

 private:
  Files* files_ = nullptr;
  int file_ = -1;
  uint64_t size_ = 0;
  std::string path_;
};

// Reads a whole regular file. MPC_DAMAGED if it has more than `limit` bytes.
mpc_status_t read_file(Files& files, const std::string& path, uint64_t limit,
                       Memory* out_data);

// Syncs a folder, so that the names in it survive a power loss.
mpc_status_t sync_folder(Files& files, const std::string& path);

// "a/b" of "a/b/c", "." of "c", "/" of "/c".
std::string parent_folder(const std::string& path);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_BASE_FILES_H_
