// The ranks of a session: what they combine before each update.

#ifndef MPC_RUNTIME_SRC_RANKS_RANKS_H_
#define MPC_RUNTIME_SRC_RANKS_RANKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mpc/communicator.h"
#include "runtime/src/device/device.h"
#include "runtime/src/program/program.h"
#include "runtime/src/ranks/overlap.h"
#include "runtime/src/ranks/rounded_sums.h"
#include "runtime/src/ranks/sharding.h"

namespace mpc::runtime {

// A rank is a micro-batch: each adds up gradients, loss and divisor of its own
// batches, and before `apply` the sums become those of all ranks. `apply` is
// then the same computation on all of them, so weights and moments stay equal
// bit for bit. What micro-batches otherwise leave for `apply` is combined as
// well: statistics are averaged, maxima of FP8 are the maxima of all ranks.
class Ranks : public RankMeans {
 public:
  // Checks the communicator and whether the program is one for several ranks.
  // `*out_ranks` is null if there is only one.
  static mpc_status_t join(const mpc_communicator_t* communicator,
                           const mpc_program_t& program,
                           std::unique_ptr<Ranks>* out_ranks);

  uint32_t rank() const { return communicator_.rank; }
  uint32_t size() const { return communicator_.size; }

  // Whether batches compute means with those of other ranks. Then each rank
  // must call agree() before every batch, and where others may have one.
  bool computes_means() const { return computes_means_; }
  // All ranks are about to run this entry point of a batch, or have none: -1.
  // MPC_INVALID_ARGUMENT on all ranks if not all do the same.
  mpc_status_t agree(int64_t entry) const;
  mpc_status_t mean(void* data, uint64_t count, mpc_dtype_t dtype) override;

  // Gives this rank random numbers of its own.
  mpc_status_t write_seed(Device* device) const;

  // `entries` of the program compute gradients, `own` for its own batch size.
  void set_entries(const schema::Variant& variant,
                   const std::vector<uint32_t>& entries, uint32_t own);

  // Lets devices that are not hosts add up gradients, if they can; otherwise
  // `*out_note` says why gradients go through host memory.
  mpc_status_t join_devices(Device* device, std::string* out_note);

  // From now on each rank updates the states of its own part of the gradients,
  // which `apply` does, and with `shares_gradients` also keeps only that part.
  mpc_status_t share_update(Device* device, const schema::Variant& variant,
                            uint32_t apply, bool shares_gradients);
  // Null: every rank makes the whole update.
  Sharding* sharding() const { return sharding_.get(); }

  // From now on gradients travel in bf16.
  mpc_status_t round_gradients(Device* device);
  bool rounds_gradients() const { return rounded_sums_ != nullptr; }
  // See RoundedSums::clear.
  void clear_residuals() const {
    if (rounded_sums_) rounded_sums_->clear();
  }
  // Whether all ranks must save checkpoints together.
  bool save_together() const { return sharding_ || rounded_sums_; }

  // `entry` is about to compute the last gradients of an update. Returns a
  // listener for its run, with which they are added up meanwhile; null if that
  // is not possible. end_overlap() must follow the run.
  RunListener* begin_overlap(Device* device, uint32_t entry);
  mpc_status_t end_overlap(bool failed);

  // Combines the states for the next update, the `update`th of the session.
  // Without batches this rank has no gradients; with `are_summed`, they have
  // been added up already. MPC_RANK_LOST if another rank is gone or is not at
  // this update.
  mpc_status_t combine(Device* device, uint64_t update, bool has_batches,
                       bool are_summed);

 private:
  enum class How { kSum, kMean, kMax };

  // A state that is combined after all ranks have read those of all others.
  struct Small {
    const schema::State* state;
    How how;
    uint64_t offset;  // In a rank's share of `shares_`.
    uint64_t bytes;
  };

  Ranks(const mpc_communicator_t& communicator, const mpc_program_t& program);
  void begin_sums(Device* device);
  mpc_status_t sum_gradients(Device* device, bool has_batches);
  mpc_status_t sum_on_devices(Device* device, bool has_batches);
  mpc_status_t sum_bucket(uint8_t* gradients, size_t i) const;
  mpc_status_t combine_small(Device* device, uint64_t update);
  void combine_share(const Small& small);
  template <typename T>
  void combine_elements(const Small& small);
  uint8_t* share(uint32_t rank) const;

  const mpc_communicator_t communicator_;
  const mpc_program_t& program_;
  const schema::State* gradients_ = nullptr;
  bool computes_means_ = false;
  std::vector<uint8_t> means_;  // The numbers of each rank.
  std::vector<Bucket> buckets_;
  std::unique_ptr<Overlap> overlap_;  // Null: not needed yet.
  std::unique_ptr<Sharding> sharding_;
  std::unique_ptr<RoundedSums> rounded_sums_;  // Null: they are not rounded.
  // The bits of a sum depend on its owner, so the owners do not depend on
  // `sharding_`.
  std::unique_ptr<Owners> owners_;
  float loss_scale_ = 0;  // When gradients were last added up.
  std::unique_ptr<DeviceRanks> device_ranks_;  // Null: hosts add up gradients.
  std::vector<Small> small_;
  uint64_t share_size_ = 0;
  std::vector<uint64_t> share_offsets_;
  Memory shares_;       // The share of each rank, which begins with an update.
  Memory device_copy_;  // The gradients, if they are not in host memory.
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_RANKS_H_
