#include "runtime/src/ranks/launcher.h"

#include <cstdint>
#include <cstdlib>

#include "mpc/communicator.h"

namespace {

struct Variables {
  const char* size;
  const char* rank;
};

// Open MPI, which is the first; MPICH, Intel MPI and srun with PMI; srun with
// PMIx.
constexpr Variables kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"},
};

bool read_number(const char* name, uint32_t* out) {
  const char* text = std::getenv(name);
  if (!text || *text < '0' || *text > '9') return false;
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*end != '\0' || value > UINT32_MAX) return false;
  *out = static_cast<uint32_t>(value);
  return true;
}

}  // namespace

bool mpc::runtime::is_launched_by_open_mpi() {
  uint32_t size;
  return read_number(kLaunchers[0].size, &size);
}

uint32_t mpc::runtime::launched_local_rank() {
  uint32_t rank;
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                           "SLURM_LOCALID", "LOCAL_RANK"})
    if (read_number(name, &rank)) return rank;
  return 0;
}

uint32_t mpc_launched_ranks(uint32_t* out_rank) {
  for (const Variables& launcher : kLaunchers) {
    uint32_t size, rank;
    if (!read_number(launcher.size, &size) ||
        !read_number(launcher.rank, &rank) || rank >= size)
      continue;
    if (out_rank) *out_rank = rank;
    return size;
  }
  if (out_rank) *out_rank = 0;
  return 1;
}
