// Blocks allocated by operator new, set aside for when it throws.
//
// They can be freed like any other block: an object may be created in one
// library and destroyed in another.

#ifndef MPC_KERNELS_CPU_DNNL_SPARE_BLOCKS_H_
#define MPC_KERNELS_CPU_DNNL_SPARE_BLOCKS_H_

#include <cstddef>
#include <mutex>

namespace mpc::kernels::cpu {

class SpareBlocks {
 public:
  // Allocates the missing blocks; false if memory does not suffice.
  bool fill();
  // A block of at least `size` bytes, which the caller owns from now on and
  // frees with operator delete; null if there is none.
  void* take(size_t size);
  // Returns the largest block to the heap, for allocations by others.
  void release_large();

 private:
  struct Block {
    Block* next;
  };
  struct Kind {
    size_t size;
    int wanted, count;
    Block* first;
  };
  std::mutex mutex_;
  // The largest block is never written, so it takes address space but no
  // memory.
  static constexpr size_t kNumKinds = 5;
  Kind kinds_[kNumKinds] = {{128, 512, 0, nullptr},
                            {512, 128, 0, nullptr},
                            {2048, 32, 0, nullptr},
                            {16384, 8, 0, nullptr},
                            {8 << 20, 1, 0, nullptr}};
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_DNNL_SPARE_BLOCKS_H_
