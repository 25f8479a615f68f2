// What a session is inside the runtime.

#ifndef MPC_RUNTIME_SRC_SESSION_SESSION_H_
#define MPC_RUNTIME_SRC_SESSION_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "mpc/session.h"
#include "runtime/src/base/files.h"
#include "runtime/src/device/device.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// Overflows in a row at the smallest loss scale after which training stops.
inline constexpr uint64_t kMostFloorOverflows = 20;
inline constexpr float kLossScaleFloor = 1.0f;

// The entry points and outputs a session interprets, found once. -1 or null
// where the program has none.
struct KnownEntries {
  int step = -1;  // `step`, or `accumulate` if the program has that instead.
  int apply = -1;
  int evaluate = -1;
  const schema::Buffer* loss = nullptr;
  const schema::Buffer* grad_norm = nullptr;
  const schema::Buffer* finite = nullptr;
  const StateTensor* step_counter = nullptr;
  const StateTensor* loss_scale = nullptr;  // Only if the loss is scaled.
};

// Where training stands beside the states. Saved in checkpoints.
struct Progress {
  uint64_t steps = 0;       // Updates, for programs without a step counter.
  uint64_t micro_step = 0;  // Micro-batches since the last update.
  uint64_t floor_overflows = 0;
  float grad_norm = 0;  // Of the last update.
};

using Properties = std::map<std::string, std::string>;

}  // namespace mpc::runtime

struct mpc_session_s {
  const mpc_program_t* program = nullptr;
  const mpc::runtime::schema::Variant* variant = nullptr;  // The device's.
  mpc::runtime::Files* files = nullptr;
  std::unique_ptr<mpc::runtime::Device> device;
  std::unique_ptr<mpc::runtime::Executable>
      executable;  // Dies before `device`.
  mpc::runtime::KnownEntries known;
  mpc::runtime::Progress progress;
  mpc::runtime::Properties properties;
  bool lost = false;  // A run failed half-way.
};

namespace mpc::runtime {

// A session whose checkpoints go through `files`, which must outlive it.
mpc_status_t create_session(const mpc_program_t* program,
                            const mpc_session_options_t* options, Files& files,
                            mpc_session_t** out_session);

// Checks the caller's tensors against a signature; `what` is "input" or
// "output". Values are checked for inputs only. Outputs may lack data.
mpc_status_t check_tensors(const Bindings* bindings,
                           const mpc_tensor_t* tensors, size_t num_tensors,
                           bool inputs);

// Element `index` of an array whose elements may be larger than ours.
const mpc_tensor_t& tensor_at(const mpc_tensor_t* tensors, size_t index);

// Checks the inputs, puts them where `entry` wants them and runs it.
mpc_status_t run_entry(mpc_session_t* session, uint32_t entry,
                       const mpc_tensor_t* inputs, size_t num_inputs);

// The value of a rank-0 output of type f32 or f64.
float read_float(const mpc_session_t& session, const schema::Buffer& buffer);

// The initial value of all states, in host memory.
mpc_status_t make_initial_states(const mpc_program_t& program, uint64_t seed,
                                 Memory* out_states);

// Rounds every parameter state of the image into its working copies.
void renew_working_copies(const mpc_program_t& program, uint8_t* states);

// Updates since the start.
uint64_t steps_done(const mpc_session_t& session);

// Runs `entry` once more, one instruction at a time, and says where the first
// value that is not finite comes from. Leaves the states as they are.
std::string find_first_non_finite(mpc_session_t* session, uint32_t entry,
                                  const mpc_tensor_t* inputs,
                                  size_t num_inputs);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_SESSION_SESSION_H_
