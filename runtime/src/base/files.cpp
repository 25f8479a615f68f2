#include "runtime/src/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/src/base/byte_text.h"

namespace mpc::runtime {

static int result_of(int result) { return result < 0 ? -errno : result; }

int Files::open(const char* path, int flags, int mode) {
  return result_of(::open(path, flags | O_CLOEXEC, mode));
}

int64_t Files::read(int file, void* data, size_t size) {
  ssize_t result = ::read(file, data, size);
  return result < 0 ? -errno : result;
}

int64_t Files::read_at(int file, void* data, size_t size, uint64_t offset) {
  ssize_t result = ::pread(file, data, size, static_cast<off_t>(offset));
  return result < 0 ? -errno : result;
}

int64_t Files::write(int file, const void* data, size_t size) {
  ssize_t result = ::write(file, data, size);
  return result < 0 ? -errno : result;
}

int Files::allocate(int file, uint64_t size) {
  return -::posix_fallocate(file, 0, static_cast<off_t>(size));
}

int Files::sync(int file) { return result_of(::fsync(file)); }

int Files::close(int file) { return result_of(::close(file)); }

int Files::make_folder(const char* path) {
  return result_of(::mkdir(path, 0777));
}

int Files::rename(const char* from, const char* to, unsigned flags) {
  if (flags == 0) return result_of(::rename(from, to));
  return result_of(::renameat2(AT_FDCWD, from, AT_FDCWD, to, flags));
}

int Files::remove_file(const char* path) { return result_of(::unlink(path)); }

int Files::remove_folder(const char* path) { return result_of(::rmdir(path)); }

int Files::list(const char* path, std::vector<std::string>* names) {
  DIR* folder = ::opendir(path);
  if (!folder) return -errno;
  struct Closer {
    DIR* folder;
    ~Closer() { ::closedir(folder); }
  } closer{folder};
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(folder);
    if (!entry) return -errno;
    if (std::strcmp(entry->d_name, ".") != 0 &&
        std::strcmp(entry->d_name, "..") != 0)
      names->push_back(entry->d_name);
  }
}

Files& system_files() {
  static Files files;  // Has no state.
  return files;
}

mpc_status_t io_error(const char* what, const std::string& path, int error) {
  char text[128];
  const char* reason =
      strerror_r(error < 0 ? -error : error, text, sizeof(text));
  return mpc_status_make(MPC_IO, "cannot %s '%s': %s", what, path.c_str(),
                         reason);
}

mpc_status_t OpenFile::open(Files& files, const std::string& path) {
  path_ = path;
  // Without O_NONBLOCK opening a FIFO would wait for a writer.
  int file = files.open(path.c_str(), O_RDONLY | O_NONBLOCK, 0);
  if (file < 0) return io_error("open", path, file);
  files_ = &files;
  file_ = file;
  struct stat info;
  if (::fstat(file, &info) != 0) return io_error("read", path, errno);
  if (!S_ISREG(info.st_mode))
    return mpc_status_make(MPC_IO, "'%s' is not a regular file", path.c_str());
  size_ = static_cast<uint64_t>(info.st_size);
  return nullptr;
}

OpenFile::~OpenFile() {
  if (files_) (void)files_->close(file_);
}

// Calls read(to, count, done), which returns the number of bytes that it has
// read, until there are `size`.
template <typename Read>
static mpc_status_t read_all(const std::string& path, void* data, uint64_t size,
                             Read read) {
  auto* bytes = static_cast<uint8_t*>(data);
  uint64_t done = 0;
  while (done < size) {
    int64_t count = read(bytes + done, size - done, done);
    if (count == -EINTR) continue;
    if (count < 0) return io_error("read", path, static_cast<int>(count));
    if (count == 0)
      return mpc_status_make(MPC_IO, "'%s' became shorter while it was read",
                             path.c_str());
    done += static_cast<uint64_t>(count);
  }
  return nullptr;
}

mpc_status_t OpenFile::read(void* data, uint64_t size) {
  return read_all(path_, data, size,
                  [this](void* to, uint64_t count, uint64_t) {
                    return files_->read(file_, to, count);
                  });
}

mpc_status_t OpenFile::read_at(void* data, uint64_t size,
                               uint64_t offset) const {
  return read_all(path_, data, size,
                  [&](void* to, uint64_t count, uint64_t done) {
                    return files_->read_at(file_, to, count, offset + done);
                  });
}

mpc_status_t read_file(Files& files, const std::string& path, uint64_t limit,
                       Memory* out_data) {
  OpenFile file;
  MPC_RETURN_IF_ERROR(file.open(files, path));
  uint64_t size = file.size();
  if (size > limit)
    return mpc_status_make(
        MPC_DAMAGED, "'%s' has %s, more than the %s it may have", path.c_str(),
        ByteText(size).c_str(), ByteText(limit).c_str());
  Memory data;
  MPC_RETURN_IF_ERROR(data.allocate(default_allocator(), size, path.c_str()));
  MPC_RETURN_IF_ERROR(file.read(data.data(), size));
  *out_data = std::move(data);
  return nullptr;
}

mpc_status_t sync_folder(Files& files, const std::string& path) {
  int folder = files.open(path.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (folder < 0) return io_error("open", path, folder);
  int result = files.sync(folder);
  (void)files.close(folder);
  return result < 0 ? io_error("sync", path, result) : nullptr;
}

std::string parent_folder(const std::string& path) {
  size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace mpc::runtime
