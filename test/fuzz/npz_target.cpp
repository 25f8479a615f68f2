// Fuzz target for data sets.

#include "test/fuzz/targets.h"
#include "tools/npz/Npz.h"

#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

void mpc::fuzz::npz(const uint8_t *data, size_t size) {
  int file = memfd_create("npz", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size))
    std::abort();
  try {
    mpc::npz::Reader reader("/proc/self/fd/" + std::to_string(file));
    for (const std::string &name : reader.names()) {
      mpc::npz::ArrayType header = reader.header(name);
      mpc::npz::Array array = reader.read(name);
      if (array.dtype != header.dtype || array.shape != header.shape ||
          array.data.size() != array.count() * array.elementSize())
        std::abort();
    }
  } catch (const mpc::npz::FileError &) {
  } catch (const mpc::npz::MemoryError &) {
  }
  close(file);
}
