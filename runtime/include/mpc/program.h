// A compiled program: the contents of a package (.mpc), verified and immutable.

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
  int32_t batch_dim;    // The batch dimension, or -1 if there is none. In
                        // outputs a sample may have several consecutive rows.
  uint8_t has_range;    // Integer inputs: every value must lie in [low, high)
  uint8_t has_ignored;  // or, if has_ignored is 1, equal `ignored`, which the
  int64_t low, high;    // loss leaves out. Other values are rejected. INT64_MIN
                        // and INT64_MAX mean no limit.
  int64_t ignored;
} mpc_binding_info_t;

// The role of a state. State names depend on the model: if the model has an
// initializer named "learning_rate", the state with that role gets another
// name.
typedef enum mpc_state_role_e {
  MPC_STATE_UNKNOWN = 0,
  MPC_STATE_PARAMETER = 1,  // Trained.
  MPC_STATE_STATISTIC = 2,  // Running mean or variance.
  MPC_STATE_CONSTANT = 3,   // A constant of the model, not trained.
  MPC_STATE_OPTIMIZER = 4,  // Any other state of the optimizer.
  MPC_STATE_FIRST_MOMENT = 5,
  MPC_STATE_SECOND_MOMENT = 6,
  MPC_STATE_GRADIENT_SUM = 7,  // Over micro-batches.
  MPC_STATE_AVERAGE = 8,       // Moving average of weights (--ema).
  MPC_STATE_COMPENSATION = 9,  // Rounding error of bf16 weights.
  MPC_STATE_PENDING = 10,      // A state as the micro-batches since the last
  MPC_STATE_PENDING_CONTROL = 11,  // update left it; `apply` takes it over.
  MPC_STATE_FP8_SCALES = 12,
  MPC_STATE_FP8_HISTORY = 13,
  MPC_STATE_FP8_AMAX = 14,
  MPC_STATE_WORKING_COPY = 15,  // Weights in 16 bit.
  MPC_STATE_DERIVED = 16,     // Computed from the weights whenever they change.
  MPC_STATE_CONTROL = 17,     // Any other single number.
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
  MPC_STATE_FAULT_PLACE = 29,  // For --observe: the op to inject a fault into.
  MPC_STATE_FAULT_VALUE = 30,
  MPC_STATE_RESIDUAL = 31,   // What `forward` leaves for `backward`.
  MPC_STATE_RANK_SEED = 32,  // What this rank adds to the random seed, i64.
  MPC_STATE_RANK_GRADIENTS = 33,  // Those of one batch.
} mpc_state_role_t;

// A state tensor, by its ONNX name ("fc1.weight"). A packed state has one
// tensor per slot ("adam.first_moment/fc1.weight").
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
// count and kernel. Executes none of its code. The caller owns `*out_program`
// and must destroy it after its sessions. The file stays open, because large
// initial values are read from it for each session: replace packages by
// renaming, do not write to them.
//
// Returns MPC_IO if the file cannot be read, MPC_DAMAGED if it is not a
// complete package, MPC_INCOMPATIBLE if this runtime or CPU cannot run it, or
// MPC_OUT_OF_MEMORY.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_load_file(const char* path, mpc_program_t** out_program);

// Loads a package from memory, which is copied.
MPC_API MPC_MUST_USE mpc_status_t mpc_program_load_memory(
    const void* data, size_t size, mpc_program_t** out_program);

// Destroys `program`; NULL is allowed.
MPC_API void mpc_program_destroy(mpc_program_t* program);

// Returns 1 if the program has the entry point, 0 if not. Names are "step",
// "accumulate", "apply", "evaluate", "predict", "forward", "backward",
// "initialize", "observe" and "derive", which sessions run automatically
// whenever weights have changed.
MPC_API int mpc_program_has_entry(const mpc_program_t* program,
                                  const char* entry);

// Number of inputs and outputs of an entry point, 0 if it does not exist.
MPC_API size_t mpc_program_num_inputs(const mpc_program_t* program,
                                      const char* entry);
MPC_API size_t mpc_program_num_outputs(const mpc_program_t* program,
                                       const char* entry);

// Writes the batch sizes of an entry point to `out_sizes`, at most `capacity`
// of them, and returns their number. There are several if the program was
// compiled for several sizes (`--batch=64,256`); the first is the size that the
// functions below describe. The entry point for another size is called
// "step@256", and describes itself like any other, but calls of the session
// need only the name of the first: they use the entry point whose inputs have
// the shapes of the tensors. 0 if the entry point does not exist or has no
// input with a batch dimension. `out_sizes` may be NULL if `capacity` is 0.
MPC_API size_t mpc_program_batch_sizes(const mpc_program_t* program,
                                       const char* entry, uint64_t* out_sizes,
                                       size_t capacity);

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
// observation i and holds: the numbers of NaN, infinite and zero elements; the
// position of the first element that is not finite, or -1; the largest and the
// smallest nonzero magnitude of the finite elements, or 0; two zeros; and a
// histogram of floor(log2(magnitude)) of the nonzero elements with 64 bins for
// -44 to 19, where the first and the last bin also count smaller and larger
// magnitudes.
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
  const char* name;  // Name of the node, input or state. All strings and
                     // `shape` are borrowed from the program.
  const char* op;    // "train.matmul"; "" for inputs and states.
  const char* type;  // Type of the node: "Gemm", or "".
  mpc_observation_kind_t kind;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  int32_t rounding;  // Row in the output "roundings", f64 [m, 8], or -1. The
                     // row holds sum(gradient * rounding error) for rounding
                     // the tensor to bf16, f16 and 8-bit formats, then zeros.
} mpc_observation_info_t;

// The number of observations; 0 without the entry point `observe`.
MPC_API size_t mpc_program_num_observations(const mpc_program_t* program);
// Returns MPC_INVALID_ARGUMENT if `index` is out of range.
MPC_API MPC_MUST_USE mpc_status_t
mpc_program_observation(const mpc_program_t* program, size_t index,
                        mpc_observation_info_t* out_info);

// The value of an option that the program was compiled with ("precision"), or
// NULL if the program does not record it. Borrowed.
MPC_API const char* mpc_program_option(const mpc_program_t* program,
                                       const char* name);

// The number of recorded options, and the name of one, in a fixed order; NULL
// if `index` is out of range. Borrowed.
MPC_API size_t mpc_program_num_options(const mpc_program_t* program);
MPC_API const char* mpc_program_option_name(const mpc_program_t* program,
                                            size_t index);

// The precision report as JSON; if devices have separate reports, the one for
// the first kind of device. Borrowed; `*out_size` excludes the final NUL.
MPC_API const char* mpc_program_report(const mpc_program_t* program,
                                       size_t* out_size);

// The report for one kind of device ("cuda"); all kinds may share one report.
// NULL if the program has no code for such a device.
MPC_API const char* mpc_program_device_report(const mpc_program_t* program,
                                              const char* device,
                                              size_t* out_size);

// Memory of a session in bytes: the states, the arena, and what the arena would
// take if no buffers shared memory. In a program for several kinds of device,
// the sizes for the first kind.
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
