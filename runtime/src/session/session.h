// The internal representation of a session.

#ifndef MPC_RUNTIME_SRC_SESSION_SESSION_H_
#define MPC_RUNTIME_SRC_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpc/session.h"
#include "runtime/src/base/files.h"
#include "runtime/src/device/device.h"
#include "runtime/src/program/program.h"
#include "runtime/src/ranks/ranks.h"

namespace mpc::runtime {

// The number of consecutive overflows at the smallest loss scale after which
// training stops.
inline constexpr uint64_t kMaxFloorOverflows = 20;

// The entry points of steps, for one batch size, and their outputs that a
// session interprets, looked up once. -1 or null if the program has no such
// entry point or output.
struct KnownEntries {
  int step = -1;  // `step`, or `accumulate` if the program has that instead.
  int apply = -1;
  int observe = -1;
  int derive = -1;
  const schema::Buffer* loss = nullptr;
  const schema::Buffer* update_loss = nullptr;  // For all micro-batches.
  const schema::Buffer* grad_norm = nullptr;
  const schema::Buffer* learning_rate = nullptr;  // Null: it has no schedule.
  const schema::Buffer* finite = nullptr;         // Null: steps are not tested.
  const schema::Buffer* update_finite = nullptr;
  const schema::Buffer* batch_finite = nullptr;  // For one micro-batch.
  const StateTensor* step_counter = nullptr;
  const StateTensor* loss_sum = nullptr;     // Over micro-batches, for `apply`.
  const StateTensor* loss_scale = nullptr;   // Set only if the loss is scaled.
  const StateTensor* total_steps = nullptr;  // Set only if a schedule reads it.
  float loss_scale_floor = 1;
};

// The progress of training that is not in states. Saved in checkpoints.
struct Progress {
  uint64_t steps = 0;       // Updates, for programs without a step counter.
  uint64_t micro_step = 0;  // Micro-batches since the last update.
  int micro_entry = -1;     // Their entry point; -1: not known.
  uint64_t floor_overflows = 0;
  float grad_norm = 0;  // Norm of the last update.
  float learning_rate = 0;
  double loss_sum = 0;  // Since the last update, if `apply` returns no loss.
  bool has_non_finite_batch =
      false;  // A micro-batch since the last update was not finite.
};

// The values that a step reads for its report. Each int is an index into
// `values`, or -1.
struct StepReads {
  Value values[kMaxValues];
  Value update_values[kMaxValues];  // The same if `apply` runs alone.
  size_t count = 0;
  int loss = -1;
  int loss_sum = -1;
  int update_loss = -1;
  int grad_norm = -1;
  int learning_rate = -1;
  int finite = -1;
  int update_finite = -1;
  int batch_finite = -1;
  int loss_scale = -1;
  int step_counter = -1;
};

// What steps of one batch size need.
struct BatchEntries {
  KnownEntries known;
  StepReads reads;
};

// Steps that are queued and whose results are not read yet: a ring buffer.
struct PendingSteps {
  struct Step {
    uint64_t call;
    bool updates;       // Ends with an update of the weights.
    bool only_updates;  // Is only that update, without a batch.
    uint64_t batches;   // Since the previous update.
  };
  static constexpr size_t kMaxPending =
      2;  // At least every device's depth + 1.
  Step steps[kMaxPending];
  size_t first = 0;
  size_t count = 0;
};

using Properties = std::map<std::string, std::string>;

}  // namespace mpc::runtime

struct mpc_session_s {
  const mpc_program_t* program = nullptr;
  const mpc::runtime::schema::Variant* variant = nullptr;  // The device's.
  mpc::runtime::Files* files = nullptr;
  std::unique_ptr<mpc::runtime::Profile> profile;  // The last one, or null.
  bool profiles = false;  // The executable measures into `profile`.
  std::unique_ptr<mpc::runtime::Device> device;
  std::unique_ptr<mpc::runtime::Executable>
      executable;                                   // Dies before `device`.
  std::vector<mpc::runtime::BatchEntries> batches;  // The own size first.
  // The ones that the last step used: all queued steps have their size.
  mpc::runtime::KnownEntries known;
  mpc::runtime::StepReads reads;
  mpc::runtime::PendingSteps pending;
  std::unique_ptr<mpc::runtime::Ranks> ranks;  // Null: there is only one.
  uint64_t shared_updates = 0;                 // With other ranks.
  mpc::runtime::Progress progress;
  mpc_step_info_t last_step = {};  // The last step that was finished.
  uint64_t num_calls = 0;          // Steps that were queued so far.
  bool asynchronous = false;
  bool allow_non_finite = false;  // In checkpoints that are saved.
  mpc::runtime::Properties properties;
  std::vector<mpc::runtime::Input> input_room;    // For the largest entry.
  std::vector<mpc::runtime::Output> output_room;  // For mpc_session_run.
  std::string device_note;                        // See OpenedDevice::note.
  mutable std::string device_text;                // For mpc_session_device.
  bool derived_stale = true;    // Weights have changed since `derive` ran.
  bool has_residuals = false;   // `forward` has run since a state was written.
  bool schedule_known = false;  // The state `total_steps` is known to be set.
  bool lost = false;            // A run failed midway.
};

namespace mpc::runtime {

// A session whose checkpoints go through `files`, which must outlive it.
mpc_status_t create_session(const mpc_program_t* program,
                            const mpc_session_options_t* options, Files& files,
                            mpc_session_t** out_session);

// Checks the caller's tensors against the inputs or outputs of an entry point.
// Values are checked only for inputs in host memory. The data of outputs may be
// NULL.
mpc_status_t check_tensors(const Device& device, const Bindings* bindings,
                           const mpc_tensor_t* tensors, size_t num_tensors,
                           bool inputs);

// Whether `struct_size` can be sizeof(mpc_tensor_t) in some version of the API.
bool is_tensor_size(size_t struct_size);

// Element `index` of an array of the caller, whose version of mpc_tensor_t may
// be larger or smaller than ours; in a smaller one the field `device` is
// missing.
const mpc_tensor_t& tensor_at(const mpc_tensor_t* tensors, size_t index);
mpc_device_t device_of(const mpc_tensor_t& tensor);
inline MemoryKind memory_kind_of(const mpc_tensor_t& tensor) {
  return device_of(tensor).kind == MPC_DEVICE_HOST ? MemoryKind::kHost
                                                   : MemoryKind::kDevice;
}

// Reads bytes of the states. If ranks share them, all ranks must call it.
mpc_status_t read_states(const mpc_session_t& session, uint64_t offset,
                         void* data, uint64_t size);

// An error if a run failed earlier.
mpc_status_t check_alive(const mpc_session_t& session);

// Returns `status`; marks the session as lost if the device is lost.
mpc_status_t note_loss(mpc_session_t* session, mpc_status_t status);

// Whether tensors have the types of these bindings.
bool fit(const Bindings* bindings, const mpc_tensor_t* tensors,
         size_t num_tensors);

// The entry point that does the same as `entry` and whose inputs have the types
// of `inputs`, for whatever batch size; `entry` if there is none.
uint32_t entry_for(const mpc_session_t& session, uint32_t entry,
                   const mpc_tensor_t* inputs, size_t num_inputs);

// The error `status` about the types of inputs, with the other batch sizes of
// `entry` if it has any.
mpc_status_t add_batch_sizes(const mpc_session_t& session, uint32_t entry,
                             mpc_status_t status);

// Whether `entry` updates the weights, for any batch size.
bool changes_weights(const mpc_session_t& session, uint32_t entry);

// Checks the inputs of `entry` and writes to session->input_room what to queue.
mpc_status_t check_and_queue_inputs(mpc_session_t* session, uint32_t entry,
                                    const mpc_tensor_t* inputs,
                                    size_t num_inputs);

// Checks the inputs, runs `entry` on them after all queued work, and waits for
// it. With `writes_outputs`, the executable writes session->output_room.
mpc_status_t run_entry(mpc_session_t* session, uint32_t entry,
                       const mpc_tensor_t* inputs, size_t num_inputs,
                       bool writes_outputs = false);

// MPC_INVALID_ARGUMENT if the learning rate schedule depends on the total
// number of updates and that number has not been set.
mpc_status_t check_schedule(mpc_session_t* session);

// Runs `derive` if the program has it and weights have changed since it ran.
mpc_status_t refresh_derived(mpc_session_t* session);

// Waits for all queued steps and brings session->progress up to date with their
// results. MPC_NUMERIC if one of them diverged.
mpc_status_t finish_steps(mpc_session_t* session);

// The values that steps read, depending on what the program has.
StepReads find_step_reads(const KnownEntries& known);

// Sets initial states to the outputs of `initialize`, if the program has it.
mpc_status_t initialize_states(mpc_session_t* session);

// Writes the initial values of all states to the state memory, which is zeroed.
mpc_status_t write_initial_states(const mpc_program_t& program, uint64_t seed,
                                  uint8_t* states);

// The same to new host memory.
mpc_status_t make_initial_states(const mpc_program_t& program, uint64_t seed,
                                 Memory* out_states);

// Rounds the source of every working copy into the copy. `states` is the
// state memory or a copy.
void renew_working_copies(const mpc_program_t& program, uint8_t* states);

// The timeline of the session's profile, which has stopped, as text that the
// caller frees. See mpc_session_profile_trace.
mpc_status_t write_trace(const mpc_session_t& session, char** out_text);

// The number of updates since the start.
mpc_status_t steps_done(const mpc_session_t& session, uint64_t* out_steps);

// Where to get the inputs of a finished step: from the caller, or from the
// device if it still has them. The arena does not have them, because their
// memory has been reused.
struct StepInputs {
  const mpc_tensor_t* tensors = nullptr;
  size_t count = 0;
  size_t later = 0;  // Number of steps that ran after it.
};

// Runs `entry` once more on these inputs, one instruction at a time, and
// describes where the first value that is not finite comes from. Leaves the
// states unchanged. Nothing may be in flight.
mpc_status_t find_first_non_finite(mpc_session_t* session, uint32_t entry,
                                   const StepInputs& inputs,
                                   std::string* out_text);

// Runs `observe` on inputs that are already in the arena. Names the op, input
// or state that is the origin of values in the loss or gradients that are not
// finite; with `of_update`, the op of the update. "" if there is none.
mpc_status_t find_origin(mpc_session_t* session, bool of_update,
                         std::string* out_text);

// The same for an update that overflowed, on the inputs of its step. "" if
// there is no `observe` or if the inputs are no longer available.
mpc_status_t find_non_finite_update(mpc_session_t* session,
                                    const StepInputs& inputs,
                                    std::string* out_text);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_SESSION_SESSION_H_
