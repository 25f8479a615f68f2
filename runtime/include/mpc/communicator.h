// Ranks: processes that train one model together, each on batches of its own.

#ifndef MPC_COMMUNICATOR_H_
#define MPC_COMMUNICATOR_H_

#include <stddef.h>
#include <stdint.h>

#include "mpc/dtype.h"
#include "mpc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// How a session reaches the other ranks: functions of the host program, or of
// mpc_communicator_open. Zero the struct and set `struct_size`.
//
// The functions are collective: all ranks call them in the same order, with the
// same arguments except for the data. They return when the data of this rank is
// complete. `offsets` are size + 1 ascending numbers: rank r owns the range
// from offsets[r] up to offsets[r + 1], which may be empty. If a rank is gone
// they return MPC_RANK_LOST, after which the communicator can only be aborted
// or closed.
typedef struct mpc_communicator_s {
  size_t struct_size;
  void* user;  // Passed to all functions.
  uint32_t rank;
  uint32_t size;       // The number of ranks.
  uint8_t any_thread;  // Functions may be called by any thread, one at a time.
                       // Sessions then add up gradients while they compute
                       // others. 0: by the thread that calls the session.
  // Adds up `data`, which is f32 or f64; offsets count elements. Only the own
  // range is defined afterwards. Sums must not depend on timing.
  mpc_status_t (*reduce_scatter)(void* user, void* data,
                                 const uint64_t* offsets, mpc_dtype_t dtype);
  // Copies each rank's own range of `data` to all ranks; offsets count bytes.
  mpc_status_t (*all_gather)(void* user, void* data, const uint64_t* offsets);
  // Ends the other ranks, which cannot continue without this one, and may end
  // this process as well. `reason` is a line of text.
  void (*abort)(void* user, const char* reason);
  uint32_t timeout_seconds;  // How long functions wait for other ranks; GPUs
                             // that add up gradients wait as long. 0: forever.
  // Sends the bytes of `data` from offsets[r] up to offsets[r + 1] to rank r,
  // for all others. `received` has room for size times the bytes of the own
  // range; those of rank r are written behind those of the ranks before it, and
  // the place of this rank is not used. NULL: sessions cannot round gradients
  // (mpc_session_options_t::gradient_exchange).
  mpc_status_t (*all_to_all)(void* user, const void* data,
                             const uint64_t* offsets, void* received);
} mpc_communicator_t;

// How many ranks a launcher (mpirun, mpiexec, srun) has started this process
// as one of, by its environment variables; 1 without a launcher. `*out_rank`,
// which may be NULL, receives the rank.
MPC_API uint32_t mpc_launched_ranks(uint32_t* out_rank);

// Opens the communicator of all ranks that a launcher has started, by MPI,
// which is loaded from the system: the library that the environment variable
// MPC_MPI_LIBRARY names, else one that suits the launcher (Open MPI, MPICH and
// those compatible with it). Initializes MPI if the program has not; then
// closing the last communicator finalizes it, after which none can be opened.
// Functions wait at most `timeout_seconds` for another rank.
//
// Sums are added in the order of the ranks. One thread may use the communicator
// at a time. The caller must close `*out`.
//
// Returns MPC_UNAVAILABLE if there is no MPI, or it cannot be initialized or
// has been finalized.
MPC_API MPC_MUST_USE mpc_status_t
mpc_communicator_open(uint32_t timeout_seconds, mpc_communicator_t** out);

// Closes a communicator of mpc_communicator_open; NULL is allowed. All ranks
// must call it, and no session may use it any more.
MPC_API void mpc_communicator_close(mpc_communicator_t* communicator);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_COMMUNICATOR_H_
