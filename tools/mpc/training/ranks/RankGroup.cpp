//===- RankGroup.cpp - Processes that train one model ---------------------===//

#include "tools/mpc/training/ranks/RankGroup.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"

#include <locale.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>

using namespace mpc::tool;

/// How often the first rank says that it is still busy.
static constexpr std::chrono::seconds kSignOfLife(1);

/// Throws a Failure if torchrun, or a launcher with the same variables, has
/// started several processes: each would train a model of its own.
static void requireNoTorchrun() {
  const char *rank = std::getenv("RANK"), *size = std::getenv("WORLD_SIZE");
  if (!rank || !std::getenv("MASTER_ADDR") || !size || std::atol(size) <= 1)
    return;
  throw Failure(
      Usage,
      format(
          "this is process %s of %s by the variables RANK and WORLD_SIZE, "
          "which torchrun sets, but mpc train needs MPI to reach the others; "
          "start it with mpirun -n %s, train from Python with mpc.Trainer, "
          "or unset WORLD_SIZE to train with this process alone",
          rank, size, size));
}

/// Throws a Failure if srun has started several processes without an MPI type:
/// it tells them nothing by which MPI could connect them.
static void requireNoSrun() {
  // A launcher that srun has started.
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name))
      return;
  const char *rank = std::getenv("SLURM_PROCID"),
             *size = std::getenv("SLURM_STEP_NUM_TASKS");
  if (!rank || !size || std::atol(size) <= 1)
    return;
  throw Failure(
      Usage, format("srun has started this process as number %s of %s, but not "
                    "for MPI; use srun --mpi=pmix (Open MPI) or --mpi=pmi2 "
                    "(MPICH), or unset SLURM_STEP_NUM_TASKS to train with this "
                    "process alone",
                    rank, size));
}

std::unique_ptr<RankGroup> RankGroup::join(uint32_t timeout) {
  if (mpc_launched_ranks(nullptr) <= 1) {
    requireNoTorchrun();
    requireNoSrun();
    return nullptr;
  }
  mpc_communicator_t *opened = nullptr;
  check(mpc_communicator_open(timeout, &opened));
  auto group = std::make_unique<RankGroup>(*opened);
  group->opened = opened;
  return group;
}

void RankGroup::gatherBytes(void *data,
                            const std::vector<uint64_t> &offsets) const {
  check(communicator.all_gather(communicator.user, data, offsets.data()));
}

std::vector<std::string> RankGroup::gather(const std::string &text) const {
  std::vector<uint64_t> sizes(size()), offsets;
  for (uint32_t i = 0; i <= size(); ++i)
    offsets.push_back(i * sizeof(uint64_t));
  sizes[rank()] = text.size();
  gatherBytes(sizes.data(), offsets);
  offsets.assign(1, 0);
  for (uint64_t bytes : sizes)
    offsets.push_back(offsets.back() + bytes);
  std::string all(offsets.back(), '\0');
  text.copy(all.data() + offsets[rank()], text.size());
  gatherBytes(all.data(), offsets);
  std::vector<std::string> texts;
  for (uint32_t i = 0; i < size(); ++i)
    texts.push_back(all.substr(offsets[i], sizes[i]));
  return texts;
}

void RankGroup::checkEqual(const std::string &what,
                           const std::string &value) const {
  const std::vector<std::string> values = gather(value);
  for (uint32_t i = 1; i < size(); ++i)
    if (values[i] != values[0])
      throw SharedFailure(
          Usage, format("all ranks must have the same %s, but that of rank "
                        "%u is %s, and that of rank 0 is %s",
                        what.c_str(), i, values[i].c_str(), values[0].c_str()));
}

/// The action with the locale and the messages of this thread, for another one.
static std::function<void()> asHere(const std::function<void()> &action) {
  return [&action, locale = uselocale(nullptr), sink = currentMessages()] {
    uselocale(locale);
    if (!sink)
      return action();
    MessagesTo scope(*sink);
    action();
  };
}

/// An outcome as text: "" while there is none, the exit code and the message if
/// it is a failure.
static std::string outcomeOf(std::future<void> &work) {
  try {
    work.get();
    return "0";
  } catch (const Failure &failure) {
    return std::to_string(failure.exitCode) + " " + failure.what();
  } catch (const std::exception &unexpected) {
    return std::to_string(Error) + " " + unexpected.what();
  }
}

void RankGroup::onFirst(const std::function<void()> &action) const {
  std::future<void> work;
  if (isFirst())
    work = std::async(std::launch::async, asHere(action));
  for (;;) {
    std::string outcome;
    if (isFirst() && work.wait_for(kSignOfLife) == std::future_status::ready)
      outcome = outcomeOf(work);
    outcome = gather(outcome).front();
    if (outcome.empty())
      continue;
    if (outcome == "0")
      return;
    throw SharedFailure(static_cast<ExitCode>(std::atoi(outcome.c_str())),
                        outcome.substr(outcome.find(' ') + 1));
  }
}

void RankGroup::abort(const std::string &reason) const {
  communicator.abort(communicator.user, reason.c_str());
}

uint32_t RankGroup::shareOfCpus() {
  const char *local = nullptr;
  for (const char *name :
       {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char *value = std::getenv(name))
      local = value;
  const long here = local ? std::atol(local) : 1;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t own;
  if (here <= 1 || sched_getaffinity(0, sizeof(own), &own) != 0 ||
      CPU_COUNT(&own) < online)
    return 0;
  return static_cast<uint32_t>(std::max(1L, online / here));
}
