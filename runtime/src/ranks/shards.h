// Shares the work of an update among ranks.

#ifndef MPC_RUNTIME_SRC_RANKS_SHARDS_H_
#define MPC_RUNTIME_SRC_RANKS_SHARDS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/src/device/device.h"
#include "runtime/src/ranks/overlap.h"

namespace mpc::runtime {

// Which rank owns which gradients, in elements: whole items of every
// instruction, and a part of each bucket, so that all ranks send and receive
// while the buckets are added up.
class Owners {
 public:
  // A multiple of the elements of an item; buckets begin with whole units.
  static constexpr uint64_t kUnit = kBucketUnit / sizeof(double);

  Owners(const std::vector<Bucket>& buckets, const schema::State& gradients,
         uint64_t size);

  uint64_t elements() const { return elements_; }
  uint64_t element_bytes() const { return element_bytes_; }
  uint64_t ranks() const { return ranks_; }
  size_t buckets() const { return bounds_.size(); }
  // Where the parts of the ranks begin, and the end: ranks() + 1 numbers.
  const std::vector<uint64_t>& bounds(size_t bucket) const {
    return bounds_[bucket];
  }

 private:
  const uint64_t elements_, element_bytes_, ranks_;
  std::vector<std::vector<uint64_t>> bounds_;
};

// A range of memory, in bytes of its space.
struct ByteRange {
  uint64_t begin, end;
};

// Memory of which each rank has its part: `bytes` for each `elements` of the
// gradients that it owns, from `begin` on.
struct Piece {
  schema::Space space;
  uint64_t begin, end;  // In bytes of the memory space.
  uint64_t elements, bytes;
  // The places in it that other entry points use too, in order.
  std::vector<ByteRange> used = {};

  bool overlaps(schema::Space other, uint64_t from, uint64_t to) const {
    return space == other && begin < to && from < end;
  }
  // Where the part of the gradients from `element` on begins, the first of a
  // unit or behind the last one.
  uint64_t place(uint64_t element) const {
    return std::min(end, begin + (element + elements - 1) / elements * bytes);
  }
};

// How `apply` runs if each rank computes only the items of its own gradients
// (the first stage of Rajbhandari et al., "ZeRO: Memory Optimizations Toward
// Training Trillion Parameter Models", SC 2020). Every item computes what it
// would in a single process, so all ranks get the same bits as without shares.
class Shards {
 public:
  // Instructions of `apply` that run after some pieces have been gathered.
  struct Step {
    std::vector<Piece> gathers;
    Part part;
  };

  Shards(const schema::Variant& variant, uint32_t apply,
         const schema::State& gradients, const std::vector<Bucket>& buckets,
         uint32_t rank, uint32_t size);
  // Steps refer to items of this object.
  Shards(const Shards&) = delete;
  Shards& operator=(const Shards&) = delete;

  const Owners& owners() const { return owners_; }
  const std::vector<Step>& steps() const { return steps_; }
  // What is gathered after the last step, because other entry points use it.
  const std::vector<Piece>& last_gathers() const { return last_gathers_; }
  // The states of which each rank keeps only its part and the places that other
  // entry points use, which are gathered after the last step as well.
  const std::vector<Piece>& kept() const { return kept_; }
  // The bytes of a piece that a rank has, those of one bucket after the other.
  std::vector<ByteRange> ranges_of(const Piece& piece, uint64_t rank) const;

 private:
  struct Operand {
    Piece piece;  // Its bytes are 0 if all items read the operand.
    bool is_result;
  };

  void plan(const schema::Variant& variant, uint32_t apply);
  void visit(const schema::Instruction& instruction, size_t index);
  void finish(const schema::Variant& variant, uint32_t apply);
  void own_items(uint64_t elements_of_item, uint64_t items, ItemRanges* out);

  const Owners owners_;
  const uint32_t rank_;
  const Piece gradients_;
  std::vector<ItemRanges> items_;  // One for each instruction.
  std::vector<Piece> scattered_;   // While planning.
  std::vector<Step> steps_;
  std::vector<Piece> last_gathers_, kept_;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_SHARDS_H_
