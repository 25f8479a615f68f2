// Outputs that are computed in memory of the caller instead of being copied
// there.

#ifndef MPC_RUNTIME_SRC_DEVICE_DIRECT_OUTPUTS_H_
#define MPC_RUNTIME_SRC_DEVICE_DIRECT_OUTPUTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/src/device/device.h"

namespace mpc::runtime {

// The outputs of an entry point on a host device. Entry points begin with an
// empty arena, so an output can lie elsewhere if all operands that touch its
// place in the arena lie in it, and no input or other output does.
class DirectOutputs {
 public:
  DirectOutputs(const schema::Entry& entry, uint8_t* arena);

  // Lets the operands that lie in these outputs point into memory of the
  // caller, or back into the arena.
  void redirect(const Output* outputs, size_t count, void** operands) const;
  void restore(void** operands) const;

  // Whether redirect() moves output `index` to `data`; otherwise it must be
  // copied.
  bool is_direct(size_t index, const void* data) const;

 private:
  struct Place {
    size_t operand;   // Its index in the entry point.
    uint64_t offset;  // In the output.
  };

  uint8_t* const arena_;
  std::vector<uint64_t> offsets_;           // Where outputs lie.
  std::vector<std::vector<Place>> places_;  // For each output; none: copied.
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_DIRECT_OUTPUTS_H_
