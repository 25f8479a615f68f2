// States of which each rank keeps a part.

#ifndef MPC_RUNTIME_SRC_RANKS_SHARDING_H_
#define MPC_RUNTIME_SRC_RANKS_SHARDING_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "mpc/communicator.h"
#include "runtime/src/device/device.h"
#include "runtime/src/ranks/shards.h"

namespace mpc::runtime {

// Runs updates by Shards, and puts together what the ranks have. Until the
// first update all states are whole.
class Sharding {
 public:
  // `variant` runs on `device`, a host, which must outlive this object.
  Sharding(const mpc_communicator_t& communicator, Device* device,
           const schema::Variant& variant, uint32_t apply,
           const schema::State& gradients, const std::vector<Bucket>& buckets,
           bool shares_gradients);

  const Shards& shards() const { return shards_; }

  // Runs `apply` in its steps: `run` runs a part of it.
  mpc_status_t update(const std::function<mpc_status_t(const Part&)>& run);

  // All ranks have added up their part of bucket number `i` of the gradients at
  // `gradients`, and need no more of it.
  void release_bucket(size_t i, uint8_t* gradients);

  // Whether ranks hold different parts of these bytes of the states.
  bool is_scattered(uint64_t offset, uint64_t size) const {
    return are_scattered_ && is_shared(offset, size);
  }
  // Whether they do so after an update.
  bool is_shared(uint64_t offset, uint64_t size) const;
  // Reads bytes of the states, which all ranks do together.
  mpc_status_t read(uint64_t offset, void* data, uint64_t size);
  // All states have been written, and are whole again.
  void made_whole() { are_scattered_ = false; }
  // Some states have been written, on all ranks.
  void wrote_some() const {
    if (are_scattered_) release_states();
  }

  // The bytes of the states that ranks share, and how many this rank keeps.
  uint64_t shared_bytes() const;
  uint64_t own_bytes() const;

 private:
  mpc_status_t gather(const std::vector<Piece>& pieces);
  mpc_status_t gather_in_place(const Piece& piece);
  // Gathers the bytes that `ranges` lists for each rank, and space.
  struct Ranges {
    schema::Space space;
    std::vector<std::vector<ByteRange>> of_ranks;
  };
  mpc_status_t gather_ranges(const std::vector<Ranges>& list);
  Ranges whole(const Piece& piece) const;
  // What of the places `used` of a piece each rank has.
  Ranges used(const Piece& piece) const;
  void release(uint8_t* begin, uint8_t* end) const;
  void release_states() const;

  const mpc_communicator_t communicator_;
  Device* const device_;
  const Shards shards_;
  const bool shares_gradients_;
  std::vector<Ranges> places_;  // What is gathered of the kept states.
  bool are_scattered_ = false;
  std::vector<uint8_t> staging_;
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_SHARDING_H_
