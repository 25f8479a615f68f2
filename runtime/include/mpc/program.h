// A compiled program: the content of a package (.mpc), verified and immutable.

#ifndef MPC_PROGRAM_H_
#define MPC_PROGRAM_H_

#include "mpc/dtype.h"
#include "mpc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpc_program_s mpc_program_t;

// What an entry point takes or gives. Strings and shapes are borrowed from the
// program.
typedef struct mpc_binding_info_s {
  size_t struct_size;
  const char* name;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  int32_t batch_dim;    // Dimension that counts samples, -1 if none does. In
                        // outputs a sample may have several rows there, one
                        // after the other.
  uint8_t has_range;    // Integer inputs: every value lies in [low, high) or,
  uint8_t has_ignored;  // where has_ignored is 1, equals `ignored`, which the
  int64_t low, high;    // loss leaves out. Others are refused. INT64_MIN and
                        // INT64_MAX stand for no limit.
  int64_t ignored;
} mpc_binding_info_t;

// What a state is for. Names of states depend on those of the model: where it
// has an initializer "learning_rate", the state of that role has another name.
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
  MPC_STATE_COMPENSATION = 9,  // What rounding to bf16 left out of weights.
  MPC_STATE_PENDING = 10,      // A state as micro-batches since the last update
  MPC_STATE_PENDING_CONTROL = 11,  // have left it.
  MPC_STATE_FP8_SCALES = 12,
  MPC_STATE_FP8_HISTORY = 13,
  MPC_STATE_FP8_AMAX = 14,
  MPC_STATE_WORKING_COPY = 15,  // Weights in 16 bit.
  MPC_STATE_DERIVED = 16,       // Made of the weights whenever they change.
  MPC_STATE_CONTROL = 17,       // Another number.
  MPC_STATE_STEP_COUNT = 18,    // Updates that were made, i64.
  MPC_STATE_MICRO_STEP = 19,
  MPC_STATE_AVERAGE_COUNT = 20,  // Updates that the average is of, i64.
  MPC_STATE_TOTAL_STEPS = 21,    // Updates a schedule is made for, i64.
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
  const char* weight;  // The weight that a moment, an average or a compensation
                       // is of ("fc1.weight"); NULL for all other tensors.
} mpc_state_info_t;

// Loads a package and checks it in full: format, checksums, every offset, count
// and kernel. Runs no code of it. `*out_program` is owned by the caller, who
// destroys it after its sessions.
//
// Returns MPC_IO if the file cannot be read, MPC_DAMAGED if it is not a whole
// package, MPC_INCOMPATIBLE if this runtime or CPU cannot run it,
// MPC_OUT_OF_MEMORY.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_load_file(const char* path, mpc_program_t** out_program);

// The same from memory, which is copied.
MPC_API MPC_MUST_USE mpc_status_t mpc_program_load_memory(
    const void* data, size_t size, mpc_program_t** out_program);

// NULL is fine.
MPC_API void mpc_program_destroy(mpc_program_t* program);

// Returns 1 if the program has the entry point ("step", "accumulate",
// "apply", "evaluate", "predict", "initialize", "observe", "derive", which
// sessions run by themselves whenever weights have changed).
MPC_API int mpc_program_has_entry(const mpc_program_t* program,
                                  const char* entry);

// Number of inputs and outputs of an entry point, 0 if it does not exist.
MPC_API size_t mpc_program_num_inputs(const mpc_program_t* program,
                                      const char* entry);
MPC_API size_t mpc_program_num_outputs(const mpc_program_t* program,
                                       const char* entry);

// Describes input or output `index`. Returns MPC_INVALID_ARGUMENT if there is
// none.
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

// What a row of `observe` is of: the entry point of programs compiled with
// --check-numerics or --observe, which takes the inputs of a step, computes the
// same, changes no state and gives numbers about each tensor. Row i of its
// output "observations", f64 [n, 80], is of observation i: how many elements
// are NaN, infinite and zero; the position of the first that is not finite, or
// -1; the largest and the smallest size but 0 of the finite ones, or 0; two
// zeros; and how many of those that are not 0 have floor(log2(size)) -44, -43
// and so on to 19, where the first and the last count what lies beyond as well.
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
  const char* op;    // "train.matmul"; of inputs and states "".
  const char* type;  // Type of the node: "Gemm", or "".
  mpc_observation_kind_t kind;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  int32_t rounding;  // Its row of the output "roundings", f64 [m, 8], or -1:
                     // the sums of gradient times what rounding to bf16, f16
                     // and e4m3 would change, and zeros.
} mpc_observation_info_t;

// How many there are, 0 without such an entry point.
MPC_API size_t mpc_program_num_observations(const mpc_program_t* program);
// Returns MPC_INVALID_ARGUMENT if there is no such one.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_observation(const mpc_program_t* program, size_t index,
                        mpc_observation_info_t* out_info);

// The value of an option the program was compiled with ("precision"), NULL if
// unknown. Borrowed.
MPC_API const char* mpc_program_option(const mpc_program_t* program,
                                       const char* name);

// The precision report, JSON; of the first kind of device where each has one of
// its own. Borrowed; `*out_size` excludes the final NUL.
MPC_API const char* mpc_program_report(const mpc_program_t* program,
                                       size_t* out_size);

// That of one kind of device ("cuda"), which may be that of all. NULL if the
// program is not for such a device.
MPC_API const char* mpc_program_device_report(const mpc_program_t* program,
                                              const char* device,
                                              size_t* out_size);

// Memory of a session in bytes: states, arena, and the arena's size had no
// buffers shared memory. In a program for several kinds of device those of the
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
