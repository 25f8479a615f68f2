// Where the time of a session goes: the time of every instruction.

#ifndef MPC_PROFILE_H_
#define MPC_PROFILE_H_

#include "mpc/session.h"

#ifdef __cplusplus
extern "C" {
#endif

// Zero the struct, set `struct_size`, then the fields that differ from the
// defaults.
typedef struct mpc_profile_options_s {
  size_t struct_size;
  uint64_t timeline_calls;  // Keep the individual runs of instructions in the
                            // latest this many calls, for a timeline; 0: none.
  uint8_t resume;  // Add to the profile that was stopped instead of starting a
                   // new one. The other options are then ignored.
} mpc_profile_options_t;

typedef enum mpc_profile_kind_e {
  MPC_PROFILE_KERNEL = 0,     // A library kernel: "matmul".
  MPC_PROFILE_GENERATED = 1,  // A function that mpc compiled: "kernel_13".
  MPC_PROFILE_MOVE = 2,       // The kernels copy and zero.
  MPC_PROFILE_INPUTS = 3,     // Copying the inputs of a call.
  MPC_PROFILE_DISPATCH = 4,   // The rest of a call: the time between
                              // instructions and reading the results.
} mpc_profile_kind_t;

// An instruction of an entry point, or a part of all calls. Strings are
// borrowed until the next profile starts or the session is destroyed.
typedef struct mpc_profile_record_s {
  size_t struct_size;
  mpc_profile_kind_t kind;
  const char* entry;           // "step"; "" for parts of all calls.
  const char* instruction;     // The nodes: "fc1 and 3 more". See `kernel`.
  const char* kernel;          // "matmul"; the symbol of a generated function;
                               // "inputs" and "dispatch".
  const char* implementation;  // "brg:avx512_core_bf16"; "" if generated.
  mpc_dtype_t dtype;           // Type of the first operand, or 0.
  uint64_t calls;              // The number of runs.
  uint64_t total_ns;           // The sum and the minimum of their wall-clock
  uint64_t min_ns;             // times, however many threads they use.
  uint64_t bytes;  // Size of all operands of one run; 0 if unknown. A function
                   // that uses only parts of an operand moves fewer.
  uint64_t flops;  // Floating-point operations of one run, a multiply-add
                   // counted as two; 0 if unknown, as for generated functions.
} mpc_profile_record_t;

// All calls that were profiled: a step, an evaluation, or another run of entry
// points. `total_ns` is the time from copying the inputs to reading the
// results, and the sum of `total_ns` of all records.
typedef struct mpc_profile_info_s {
  size_t struct_size;
  uint64_t calls;
  uint64_t total_ns;
  uint64_t num_records;
  uint64_t num_events;      // Events in the timeline.
  uint64_t dropped_events;  // Runs that the timeline no longer has, because
                            // more calls were profiled than it keeps.
} mpc_profile_info_t;

// One run of an instruction, in a timeline. Record and time of a whole call are
// those of its kind MPC_PROFILE_DISPATCH.
typedef struct mpc_profile_event_s {
  size_t struct_size;
  uint64_t record;    // Index of the record.
  uint64_t begin_ns;  // Since the profile started.
  uint64_t end_ns;
} mpc_profile_event_t;

// Starts measuring every instruction of the session, with the clock of the CPU
// or, on CUDA, with events. `options` may be NULL. Waits for queued steps first
// and returns their errors, like mpc_session_synchronize. All memory is
// allocated here. A session that does not profile does no additional work; one
// that does takes two readings of the clock per instruction, and on CUDA
// launches instructions one by one instead of as a graph, so its steps are
// slower.
//
// Returns MPC_INVALID_ARGUMENT if the session already profiles or there is no
// profile to resume, MPC_OUT_OF_MEMORY, MPC_UNAVAILABLE (the driver creates no
// events), or the errors of mpc_session_synchronize.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_profile_start(
    mpc_session_t* session, const mpc_profile_options_t* options);

// Stops measuring. Waits for queued steps first, like mpc_session_synchronize,
// whose errors it returns; the profile has stopped even then. Its results
// remain until the next one starts.
//
// Returns MPC_INVALID_ARGUMENT if the session does not profile.
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_profile_stop(mpc_session_t* session);

// The results of the profile that was stopped last. Records are in program
// order, with the parts of all calls at the end; those that never ran have zero
// calls. Events are in the order in which the runs ended.
//
// Return MPC_INVALID_ARGUMENT if there is no stopped profile, or `index` is out
// of range.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_profile_info(
    const mpc_session_t* session, mpc_profile_info_t* out_info);
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_profile_record(const mpc_session_t* session, size_t index,
                           mpc_profile_record_t* out_record);
MPC_API MPC_MUST_USE mpc_status_t mpc_session_profile_event(
    const mpc_session_t* session, size_t index, mpc_profile_event_t* out_event);

// The timeline in the format of Chrome's trace events (JSON), which Perfetto
// (ui.perfetto.dev) and chrome://tracing show. The caller owns `*out_text`,
// which ends with NUL, and frees it with mpc_string_free.
//
// Returns MPC_INVALID_ARGUMENT if there is no stopped profile or it has no
// timeline, or MPC_OUT_OF_MEMORY.
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_profile_trace(const mpc_session_t* session, char** out_text);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_PROFILE_H_
