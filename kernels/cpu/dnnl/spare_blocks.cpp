#include "kernels/cpu/dnnl/spare_blocks.h"

#include <new>

namespace mpc::kernels::cpu {

bool SpareBlocks::fill() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Kind& kind : kinds_)
    for (; kind.count < kind.wanted; ++kind.count) {
      auto* block =
          static_cast<Block*>(::operator new(kind.size, std::nothrow));
      if (!block) return false;
      block->next = kind.first;
      kind.first = block;
    }
  return true;
}

void* SpareBlocks::take(size_t size) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Kind& kind : kinds_) {
    if (kind.size < size || kind.count == 0) continue;
    Block* block = kind.first;
    kind.first = block->next;
    --kind.count;
    return block;
  }
  return nullptr;
}

void SpareBlocks::release_large() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Kind& kind = kinds_[kNumKinds - 1];
  for (; kind.count > 0; --kind.count) {
    Block* block = kind.first;
    kind.first = block->next;
    ::operator delete(block);
  }
}

}  // namespace mpc::kernels::cpu
