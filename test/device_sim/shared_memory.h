// The shared memory of a block: each array has a separate allocation, so that
// AddressSanitizer detects overruns; without it, guard bytes after the end do.

#ifndef MPC_TEST_DEVICE_SIM_SHARED_MEMORY_H_
#define MPC_TEST_DEVICE_SIM_SHARED_MEMORY_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace mpc::device_sim {

class SharedMemory {
 public:
  // `poison` fills the arrays before each block.
  explicit SharedMemory(unsigned char poison) : poison_(poison) {}

  // Makes a new array, which find() returns from then on.
  void* make(const void* key, const std::string& name, size_t bytes,
             size_t alignment);
  // Null if nothing has this key.
  void* find(const void* key) const;
  void poison();
  // The name of an array that was written beyond its end; null if there is
  // none.
  const std::string* overrun() const;
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(unsigned char* data) const;
  };
  struct Array {
    const void* key;
    std::string name;
    size_t bytes;
    std::unique_ptr<unsigned char, Free> data;
  };

  const unsigned char poison_;
  std::vector<Array> arrays_;
  size_t bytes_ = 0;
};

}  // namespace mpc::device_sim

#endif  // MPC_TEST_DEVICE_SIM_SHARED_MEMORY_H_
