// A compiled program: the content of a package (.mpc), verified and immutable.

#ifndef MPC_PROGRAM_H_
#define MPC_PROGRAM_H_

#include "mpc/dtype.h"
#include "mpc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpc_program_s mpc_program_t;

// An input or output of an entry point. Strings and shapes are borrowed from
// the program.
typedef struct mpc_binding_info_s {
  size_t struct_size;
  const char* name;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  int32_t batch_dim;    // Dimension that counts samples, -1 if none does. In
                        // outputs a sample may have several consecutive rows.
  uint8_t has_range;    // Integer inputs: every value lies in [low, high) or,
  uint8_t has_ignored;  // where has_ignored is 1, equals `ignored`, which the
  int64_t low, high;    // loss leaves out. Others are refused. INT64_MIN and
                        // INT64_MAX stand for no limit.
  int64_t ignored;
} mpc_binding_info_t;

// The role of a state. Names of states depend on the model: if it has an
// initializer "learning_rate", the state with that role has another name.
typedef enum mpc_state_role_e {
  MPC_STATE_UNKNOWN = 0,
  MPC_STATE_PARAMETER = 1,  // Trained.
  MPC_STATE_STATISTIC = 2,  // Running mean or variance.
  MPC_STATE_CONSTANT = 3,   // A constant of the model, not trained.
  MPC_STATE_OPTIMIZER = 4,  // Another state of the optimizer.
  MPC_STATE_FIRST_MOMENT = 5,
  MPC_STATE_SECOND_MOMENT = 6,
  MPC_STATE_GRADIENT_SUM = 7,  // Over micro-batches.
  MPC_STATE_AVERAGE = 8,       // Moving average of weights (--ema).
  MPC_STATE_COMPENSATION = 9,  // Rounding error of bf16 weights.
  MPC_STATE_PENDING = 10,      // Value of a state after the micro-batches since
  MPC_STATE_PENDING_CONTROL = 11,  // the last update.
  MPC_STATE_FP8_SCALES = 12,
  MPC_STATE_FP8_HISTORY = 13,
  MPC_STATE_FP8_AMAX = 14,
  MPC_STATE_WORKING_COPY = 15,  // Weights in 16 bit.
  MPC_STATE_DERIVED = 16,     // Computed from the weights whenever they change.
  MPC_STATE_CONTROL = 17,     // Another number.
  MPC_STATE_STEP_COUNT = 18,  // Number of updates, i64.
  MPC_STATE_MICRO_STEP = 19,
  MPC_STATE_AVERAGE_COUNT = 20,  // Number of updates in the average, i64.
  MPC_STATE_TOTAL_STEPS = 21,    // Length of the schedule in updates, i64.
  MPC_STATE_LEARNING_RATE = 22,
  MPC_STATE_RANDOM_SEED = 23,  // i64.
  MPC_STATE_LOSS_SUM = 24,
  MPC_STATE_LOSS_DIVISOR = 25,
  MPC_STATE_LOSS_SCALE = 26,
  MPC_STATE_LOSS_SCALE_STREAK = 27,
  MPC_STATE_OPTIMIZER_NUMBER = 28,
  MPC_STATE_FAULT_PLACE = 29,  // For --observe: an op that is to go wrong.
  MPC_STATE_FAULT_VALUE = 30,
} mpc_state_role_t;

// A tensor of a state, under its ONNX name ("fc1.weight"); packed states list
// one per slot ("adam.first_moment/fc1.weight").
typedef struct mpc_state_info_s {
  size_t struct_size;
  const char* name;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  uint8_t is_parameter;
  mpc_state_role_t role;
  const char* weight;  // The weight ("fc1.weight") that a moment, an average or
                       // a compensation belongs to; NULL for other tensors.
} mpc_state_info_t;

// Loads a package and validates it completely: format, checksums, every offset,
// count and kernel. Executes none of its code. `*out_program` is owned by the
// caller, who destroys it after its sessions.
//
// Returns MPC_IO if the file cannot be read, MPC_DAMAGED if it is not a
// complete package, MPC_INCOMPATIBLE if this runtime or CPU cannot run it,
// MPC_OUT_OF_MEMORY.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_load_file(const char* path, mpc_program_t** out_program);

// Loads a package from memory, which is copied.
MPC_API MPC_MUST_USE mpc_status_t mpc_program_load_memory(
    const void* data, size_t size, mpc_program_t** out_program);

// NULL is fine.
MPC_API void mpc_program_destroy(mpc_program_t* program);

// Returns 1 if the program has the entry point ("step", "accumulate",
// "apply", "evaluate", "predict", "initialize", "observe", "derive", which
// sessions run automatically whenever weights have changed).
MPC_API int mpc_program_has_entry(const mpc_program_t* program,
                                  const char* entry);

// Number of inputs and outputs of an entry point, 0 if it does not exist.
MPC_API size_t mpc_program_num_inputs(const mpc_program_t* program,
                                      const char* entry);
MPC_API size_t mpc_program_num_outputs(const mpc_program_t* program,
                                       const char* entry);

// Describes input or output `index`. Returns MPC_INVALID_ARGUMENT if it does
// not exist.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_input(const mpc_program_t* program, const char* entry, size_t index,
                  mpc_binding_info_t* out_info);
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_output(const mpc_program_t* program, const char* entry,
                   size_t index, mpc_binding_info_t* out_info);

// The tensors of all states, in a fixed order.
MPC_API size_t mpc_program_num_states(const mpc_program_t* program);
MPC_API MPC_MUST_USE mpc_status_t mpc_program_state(
    const mpc_program_t* program, size_t index, mpc_state_info_t* out_info);

// The kind of tensor that a row of `observe` describes. Programs compiled with
// --check-numerics or --observe have this entry point: it takes the inputs of a
// step, computes the same values, changes no state and returns statistics of
// each tensor. Row i of its output "observations", f64 [n, 80], belongs to
// observation i: the number of elements that are NaN, infinite and zero; the
// position of the first that is not finite, or -1; the largest and the smallest
// nonzero magnitude of the finite ones, or 0; two zeros; and the number of
// nonzero elements with floor(log2(magnitude)) -44, -43 and so on to 19, where
// the first and the last also count all smaller and larger ones.
typedef enum mpc_observation_kind_e {
  MPC_OBSERVATION_INPUT = 0,
  MPC_OBSERVATION_STATE = 1,  // As the step reads it.
  MPC_OBSERVATION_CONSTANT = 2,
  MPC_OBSERVATION_FORWARD = 3,  // What an op computes.
  MPC_OBSERVATION_BACKWARD = 4,
  MPC_OBSERVATION_UPDATE = 5,
} mpc_observation_kind_t;

typedef struct mpc_observation_info_s {
  size_t struct_size;
  const char* name;  // Name of the node, input or state. All are borrowed.
  const char* op;    // "train.matmul"; "" for inputs and states.
  const char* type;  // Type of the node: "Gemm", or "".
  mpc_observation_kind_t kind;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  int32_t rounding;  // Row in the output "roundings", f64 [m, 8], or -1: the
                     // sums of the gradient times the change by rounding to
                     // bf16, f16 and e4m3, and zeros.
} mpc_observation_info_t;

// The number of observations; 0 without the entry point `observe`.
MPC_API size_t mpc_program_num_observations(const mpc_program_t* program);
// Returns MPC_INVALID_ARGUMENT if `index` is out of range.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_observation(const mpc_program_t* program, size_t index,
                        mpc_observation_info_t* out_info);

// The value of an option the program was compiled with ("precision"), NULL if
// unknown. Borrowed.
MPC_API const char* mpc_program_option(const mpc_program_t* program,
                                       const char* name);

// The precision report as JSON; if devices have separate reports, that of the
// first kind of device. Borrowed; `*out_size` excludes the final NUL.
MPC_API const char* mpc_program_report(const mpc_program_t* program,
                                       size_t* out_size);

// The report for one kind of device ("cuda"), which may be shared by all. NULL
// if the program has no code for such a device.
MPC_API const char* mpc_program_device_report(const mpc_program_t* program,
                                              const char* device,
                                              size_t* out_size);

// Memory of a session in bytes: states, arena, and the arena's size if no
// buffers shared memory. In a program for several kinds of device, those of the
// first.
typedef struct mpc_memory_info_s {
  size_t struct_size;
  uint64_t state_bytes;
  uint64_t arena_bytes;
  uint64_t arena_unshared_bytes;
} mpc_memory_info_t;
MPC_API void mpc_program_memory(const mpc_program_t* program,
                                mpc_memory_info_t* out_info);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_PROGRAM_H_
