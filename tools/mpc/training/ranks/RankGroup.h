//===- RankGroup.h - Processes that train one model -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_RANKS_RANKGROUP_H
#define MPC_TOOLS_MPC_TRAINING_RANKS_RANKGROUP_H

#include "tools/mpc/Command.h"

#include "mpc/communicator.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// A failure of all ranks at the same time.
class SharedFailure : public Failure {
  using Failure::Failure;
};

/// The processes ("ranks") that a launcher such as mpirun has started to train
/// one model. All functions except abort() are collective.
class RankGroup {
public:
  /// The group of this process; null if it is alone. Functions wait at most
  /// `timeout` seconds for another rank. Throws a Failure if a launcher whose
  /// processes cannot find each other has started it.
  static std::unique_ptr<RankGroup> join(uint32_t timeout);
  /// The group of a communicator of the caller, which must outlive it.
  explicit RankGroup(const mpc_communicator_t &communicator)
      : communicator(communicator) {}
  ~RankGroup() { mpc_communicator_close(opened); }
  RankGroup(const RankGroup &) = delete;
  RankGroup &operator=(const RankGroup &) = delete;

  const mpc_communicator_t *get() const { return &communicator; }
  uint32_t rank() const { return communicator.rank; }
  uint32_t size() const { return communicator.size; }
  bool isFirst() const { return rank() == 0; }

  /// The texts of all ranks, in their order.
  std::vector<std::string> gather(const std::string &text) const;

  /// Throws a SharedFailure if the values of `what` differ.
  void checkEqual(const std::string &what, const std::string &value) const;

  /// Runs `action` on the first rank, in another thread, which may take long,
  /// while the others wait. If it throws, all ranks throw a SharedFailure.
  void onFirst(const std::function<void()> &action) const;

  /// Ends the other ranks. They are told to end as soon as possible, without
  /// saving anything.
  void abort(const std::string &reason) const;

  /// The CPUs of this rank if the launcher has given it none of its own: a
  /// share of this machine's. 0: those that it may use.
  static uint32_t shareOfCpus();

private:
  void gatherBytes(void *data, const std::vector<uint64_t> &offsets) const;

  const mpc_communicator_t communicator;
  mpc_communicator_t *opened = nullptr; ///< By join(), which closes it.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_RANKS_RANKGROUP_H
