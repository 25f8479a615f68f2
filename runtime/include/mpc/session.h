// A session: one program on one device, with its weights.

#ifndef MPC_SESSION_H_
#define MPC_SESSION_H_

#include "mpc/communicator.h"
#include "mpc/program.h"
#include "mpc/status.h"
#include "mpc/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mpc_session_s mpc_session_t;

// What the ranks of a communicator share, instead of each having all of it, as
// the stages of ZeRO (Rajbhandari et al., "ZeRO: Memory Optimizations Toward
// Training Trillion Parameter Models", SC 2020). The weights are the same bit
// for bit. Every rank must have the same value.
typedef enum mpc_shard_e {
  MPC_SHARD_NONE = 0,
  // Each rank updates a part of the weights. It keeps only its part of the
  // states that nothing but the update uses: moments and, unless the program
  // computes with them, masters (stage 1).
  MPC_SHARD_OPTIMIZER = 1,
  // Also gives back the memory of the gradients of other parts once they have
  // been added up (stage 2).
  MPC_SHARD_GRADIENTS = 2,
} mpc_shard_t;

// How the ranks of a communicator exchange gradients. Every rank must have the
// same value. In C++ the underlying type is fixed, so that a variable may hold
// any number, which is then refused.
typedef enum mpc_gradient_exchange_e
#ifdef __cplusplus
    : uint32_t
#endif
{
  // In their own type.
  MPC_GRADIENT_EXCHANGE_EXACT = 0,
  // Rounded to bf16, half the bytes of f32. What that loses is added to the
  // gradients of the next update, and forgotten when an update is skipped and
  // when a checkpoint is saved or loaded. It takes as much memory as the
  // gradients.
  MPC_GRADIENT_EXCHANGE_BF16 = 1,
} mpc_gradient_exchange_t;

// Memory hooks. `allocate` returns memory aligned to `alignment` (a power of
// two) or NULL. Both are called only while a session is created or destroyed.
typedef struct mpc_allocator_s {
  void* user;
  void* (*allocate)(void* user, size_t size, size_t alignment);
  void (*release)(void* user, void* pointer);
} mpc_allocator_t;

// Threads of the program that a session may use. Programs whose own threads
// keep spinning after a parallel region, as OpenMP's do, lend these to the
// session: otherwise both would compete for the same cores.
typedef struct mpc_thread_pool_s {
  void* user;
  // Calls body(data, number, count) on `count` threads at the same time, at
  // most `threads`, and returns when all calls have returned. Each call gets
  // its number, from 0 to `count` - 1; 0 is the calling thread. `body` throws
  // nothing. A session calls this once for each step or run of an entry point,
  // and while it is created; sessions in several threads call it at the same
  // time. If `count` is less than `threads`, the session starts threads of its
  // own: results do not depend on it.
  void (*run)(void* user, uint32_t threads,
              void (*body)(void* data, uint32_t number, uint32_t count),
              void* data);
} mpc_thread_pool_t;

// Zero the struct, set `struct_size`, then the fields that differ from the
// defaults.
typedef struct mpc_session_options_s {
  size_t struct_size;
  const char* device;  // NULL: "cpu". See mpc_session_device.
  uint32_t threads;  // 0: OMP_NUM_THREADS or, if that is not set, the number of
                     // CPUs that the calling thread and its cgroup may use.
  uint8_t deterministic;  // Bit-identical results for any number of threads
                          // and, on CUDA, in every run.
  uint64_t seed;          // State "random_seed", for dropout and `initialize`.
  const mpc_allocator_t* allocator;  // NULL: aligned_alloc. Must outlive the
                                     // session.
  uint8_t asynchronous;              // See mpc_session_step.
  void* stream;  // CUDA: the CUstream to queue all work on. It must belong to
                 // the device's primary context and outlive the session. NULL:
                 // the session creates a stream.
  uint8_t allow_non_finite;  // Allow saving checkpoints with weights that are
                             // not finite.
  const char* code_folder;  // CPU: load the program's compiled code from a file
                            // that is written to this folder and stays there,
                            // so that tools such as perf can name its
                            // functions. Whoever can write to the folder can
                            // run code in this process. NULL: the code is in
                            // memory only.
  const mpc_communicator_t* communicator;  // The ranks that train the program
                                           // together; see below. Copied, but
                                           // what it refers to must outlive
                                           // the session. NULL: one rank.
  const mpc_thread_pool_t* thread_pool;    // CPU: whose threads to use. The
                                           // struct is copied. NULL: the
                                           // session starts its own.
  mpc_shard_t shard;  // CPU, with a communicator: what ranks share.
  mpc_gradient_exchange_t gradient_exchange;  // CPU, with a communicator.
} mpc_session_options_t;

// What one step did. Set `struct_size` to sizeof(mpc_step_info_t); fields that
// the caller's version does not have are not written.
typedef struct mpc_step_info_s {
  size_t struct_size;
  float loss;        // Unscaled, as the model reduces it.
  float loss_scale;  // In force during this step; 1 without loss scaling.
  float grad_norm;   // Norm of the unscaled gradients before clipping; if
                     // gradients are accumulated, that of the last update.
  uint8_t skipped;   // 1 if loss or gradients were not finite and no weight
                     // changed.
  uint8_t updated;   // 1 if this call updated the weights; 0 if it skipped the
                     // update, or between updates when accumulating.
  uint64_t step;     // Updates since the start, including this one.
  uint64_t call;  // The call of mpc_session_step that this describes, counted
                  // from 1; rejected calls do not count. 0: no call yet, and
                  // all other fields are 0.
  float update_loss;  // If this call updated the weights or skipped the update:
                      // the loss of all batches since the previous update, as
                      // if they were one batch. Otherwise 0.
  float learning_rate;  // Rate of the last update, if a schedule computes it.
                        // Otherwise 0 (see the state "learning_rate").
} mpc_step_info_t;

// Creates a session: allocates states and arena, sets initial values and
// prepares every kernel. If the program has an entry point `initialize`, its
// outputs become the initial values of the states of the same names. `options`
// may be NULL. `program` is borrowed and must outlive the session. The caller
// must destroy `*out_session`.
//
// Devices are "cpu"; "cuda" or "cuda:<number>"; and "auto": the first CUDA
// device that can run the program's code, otherwise the CPU. A build may have
// more kinds of device.
//
// Returns MPC_INVALID_ARGUMENT, MPC_OUT_OF_MEMORY, MPC_UNAVAILABLE (no such
// device, or no code for it), MPC_INCOMPATIBLE (a kernel cannot run on this
// machine), MPC_IO (a file cannot be written to `code_folder`, or the package
// cannot be read) or MPC_DAMAGED (the package has changed since it was loaded).
MPC_API MPC_MUST_USE mpc_status_t mpc_session_create(
    const mpc_program_t* program, const mpc_session_options_t* options,
    mpc_session_t** out_session);

// Destroys `session`; NULL is allowed.
MPC_API void mpc_session_destroy(mpc_session_t* session);

// The session's device in human-readable form: "cpu", "cuda:0 NVIDIA H200".
// Remarks follow in parentheses, such as why "auto" did not choose a CUDA
// device or that CUDA graphs cannot be used. Borrowed until the next call.
MPC_API const char* mpc_session_device(const mpc_session_t* session);

// A library kernel that the session's program calls.
typedef struct mpc_kernel_info_s {
  size_t struct_size;
  const char* kernel;          // "matmul", "attention_grad".
  const char* implementation;  // "cublasLt:algo 66, 12.1 us, fastest of 16".
  const char* entry;           // The first entry point that calls it,
  const char* instruction;     // and the name of that call.
  uint64_t calls;              // In all entry points.
  uint64_t workspace_bytes;    // Needed in addition to its operands.
} mpc_kernel_info_t;

// The number of distinct library kernels (0 on the CPU), and the implementation
// of each on this session's device: the engine of the library and how it was
// chosen, or why another implementation is used. Kernels are listed in program
// order. Strings are borrowed and live as long as the session.
//
// mpc_session_kernel_info returns MPC_INVALID_ARGUMENT if `index` is out of
// range.
MPC_API size_t mpc_session_num_kernels(const mpc_session_t* session);
MPC_API MPC_MUST_USE mpc_status_t mpc_session_kernel_info(
    const mpc_session_t* session, size_t index, mpc_kernel_info_t* out_info);

// Runs one training step: forward pass, backward pass, check for values that
// are not finite, weight update. In a program that accumulates gradients over k
// micro-batches, each call runs one micro-batch and every k-th call ends with
// the update.
//
// `inputs` holds `num_inputs` tensors in the order of the program's `step`
// (or `accumulate`) inputs; they are borrowed until the call returns.
// `out_info` may be NULL; it is written on success and with MPC_NUMERIC.
//
// A step whose loss or gradients are not finite changes no weight, moment,
// statistic or counter (`out_info->skipped` is 1), and returns MPC_NUMERIC with
// a message that names where the first such value appears. The session
// continues as if the call had not been made, except that the loss scale
// shrinks. With accumulation, every micro-batch whose loss is not finite is
// reported, as is, in a program with `observe`, the first one whose gradients
// are not finite; the update is then skipped without a further error. In a
// finite step, weights that would become infinite or NaN keep their values, and
// MPC_NUMERIC reports it (`out_info->updated` is 1).
//
// With loss scaling, an overflow of gradients is not an error if the loss is
// finite, unless it happens 20 times in a row at the smallest scale.
//
// With a communicator, the call that ends with an update combines the batches
// of all ranks since the last one, as if they were micro-batches of one batch:
// gradients and losses of the ranks are weighted like those of micro-batches,
// running statistics are averaged, and every rank makes the same update and
// reports the same `update_loss`. All ranks must create their sessions with the
// same program, seed and states, and make the same updates; a rank that has no
// batch left calls mpc_session_finish_update. A loss or gradient that is not
// finite is reported by all ranks, at the update. Steps are synchronous.
//
// Blocks until the device has finished. Errors other than MPC_NUMERIC leave
// weights and loss scale unchanged, except MPC_DEVICE_LOST: the session can
// then only be destroyed.
//
// With the option `asynchronous` the function returns once the work is queued,
// and `out_info` describes an earlier call, given by its field `call`: on CUDA
// the previous call, the only one that the function waits for; on the CPU still
// this call. Host memory may be reused immediately; inputs in device memory
// must not change until the step is done (except by work queued after it on the
// session's stream). In either mode inputs must be ready: the call does not
// wait for other streams. Failures that occur later are reported by whichever
// call of the API detects them. MPC_NUMERIC then refers to an earlier step,
// which `out_info` describes; the steps queued after it, including that of this
// call, were executed as well.
//
// Thread-compatible: one thread at a time per session.
//
// Returns MPC_INVALID_ARGUMENT if a tensor does not match the signature, an
// integer is outside its range, or the length of the learning rate schedule is
// unknown: write the number of updates to the state "total_steps" (i64) before
// the first step, or compile with --total-steps. Returns MPC_NUMERIC as
// described above, MPC_OUT_OF_MEMORY (nothing has changed), or MPC_DEVICE_LOST
// if a kernel failed midway. Returns MPC_RANK_LOST if another rank is gone,
// after which the session can only be destroyed.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_step(mpc_session_t* session,
                                                   const mpc_tensor_t* inputs,
                                                   size_t num_inputs,
                                                   mpc_step_info_t* out_info);

// Updates the weights early, with the micro-batches since the last update only:
// these are fewer than the program was compiled for and are weighted as one
// batch. `out_info` (which may be NULL) describes the update, which counts as a
// separate call and whose `loss` is its `update_loss`. Waits for all queued
// work. If there are no such micro-batches (always the case in programs without
// accumulation), this is mpc_session_synchronize. With a communicator, all
// ranks must call it, or mpc_session_step, for the same update; this one may
// have no micro-batches.
//
// Returns the errors of mpc_session_step, and MPC_INVALID_ARGUMENT if the
// program was compiled by a version of mpc without support for incomplete
// updates: the option "incomplete-updates" is not "weighted".
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_finish_update(mpc_session_t* session, mpc_step_info_t* out_info);

// Waits for all queued steps. `out_info` (which may be NULL) describes the last
// one. Returns the errors of mpc_session_step.
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_synchronize(mpc_session_t* session, mpc_step_info_t* out_info);

// Runs any entry point without interpreting its outputs; the entry point may
// change states (`evaluate` and `predict` change none). `outputs` are
// caller-owned tensors of the signature's dtype and shape, written on success;
// an output with NULL data is not fetched (its other fields are not read, but
// `struct_size` must be set). Like all functions below, it returns when the
// work is done.
//
// Programs whose loss the caller computes (--loss=external) have the entry
// points "forward" and "backward" instead of "step". "forward" takes the inputs
// of the model and returns its outputs in training form; "backward" takes the
// gradient of each output that is a float ("gradient:logits") and returns that
// of each parameter ("gradient:fc1.weight"). It belongs to the last "forward"
// of the session, which it may follow any number of times, and returns
// MPC_INVALID_ARGUMENT if there is none, or if a state was written since. With
// --optimizer=none, the outputs of "step" are the loss and the gradients.
//
// Returns the errors of mpc_session_step.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_run(
    mpc_session_t* session, const char* entry, const mpc_tensor_t* inputs,
    size_t num_inputs, const mpc_tensor_t* outputs, size_t num_outputs);

// Sums over the samples of an evaluation; see mpc_session_evaluate. If
// has_accuracy is 1, the accuracy is correct / counted.
typedef struct mpc_metrics_s {
  size_t struct_size;
  double loss_sum;    // Sum of weighted losses.
  double weight_sum;  // loss_sum / weight_sum is the mean loss.
  double correct;     // Weighted number of correct predictions.
  uint64_t samples;   // Samples seen.
  uint8_t has_accuracy;
  double counted;     // Weight of the labels that the loss does not ignore: all
                      // samples, unless the loss is a mean over all labels.
  double* part_sums;  // If not NULL and the loss is a sum of losses: the first
  size_t num_parts;   // num_parts of these, without their factors in the sum,
                      // are added to the elements, in the order of the outputs
                      // "sample_loss:..." of `evaluate`. Divide by weight_sum.
} mpc_metrics_t;

// Runs `evaluate` on one batch and adds the first `num_valid` samples to
// `*metrics` (which the caller zeroes first, except `struct_size`). The caller
// pads an incomplete last batch with any valid values.
//
// Returns the errors of mpc_session_step, and MPC_INVALID_ARGUMENT if the
// program has no `evaluate`, or if it has no per-sample loss and `num_valid` is
// not a whole batch.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_evaluate(
    mpc_session_t* session, const mpc_tensor_t* inputs, size_t num_inputs,
    size_t num_valid, mpc_metrics_t* metrics);

// Reads or writes a state tensor by name ("fc1.weight", "learning_rate"). The
// tensor must have the state's dtype and shape and lie on the host. If ranks
// share states, all of them must make the same call. Writing a
// parameter also updates its 16-bit copy; the copy itself cannot be written. In
// a program compiled with --master-weights=bf16-kahan, "fc1.weight" is bf16 and
// "compensation/fc1.weight" is its rounding error; writing the first clears the
// second. All or nothing.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_read_state(
    mpc_session_t* session, const char* name, const mpc_tensor_t* tensor);
MPC_API MPC_MUST_USE mpc_status_t mpc_session_write_state(
    mpc_session_t* session, const char* name, const mpc_tensor_t* tensor);

// Describes the memory of a state in `*out_tensor`, on a session that runs on
// the CPU, so that a program can keep a parameter there instead of writing it
// before each call. The caller sets `struct_size`; data and shape are borrowed
// until the session is destroyed. The program may change the data while no
// call runs. Afterwards it passes the same tensor to mpc_session_write_state,
// which copies nothing but updates all that depends on the state.
//
// Returns MPC_INVALID_ARGUMENT if there is no such state, if it is a 16-bit
// copy, or if the session runs on another device.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_state_memory(
    mpc_session_t* session, const char* name, mpc_tensor_t* out_tensor);

// The bytes of all states that ranks share (option `shard`), and how many of
// them this rank keeps; both are 0 if they share none. Both may be NULL.
MPC_API void mpc_session_sharded_bytes(const mpc_session_t* session,
                                       uint64_t* out_own, uint64_t* out_all);

// Named values of the caller that are saved in checkpoints, such as the
// position of the training loop. UTF-8 strings; a NULL value removes the
// property. mpc_session_get_property returns NULL if there is no such property;
// the string is borrowed until the property changes or a checkpoint is loaded,
// which replaces all properties.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_set_property(
    mpc_session_t* session, const char* name, const char* value);
MPC_API const char* mpc_session_get_property(const mpc_session_t* session,
                                             const char* name);

// Writes a checkpoint folder under a temporary name, syncs it and renames it,
// so that `path` never holds an incomplete checkpoint. An existing checkpoint
// is replaced only when the new one is complete; anything else at `path` is
// left alone. The parent folder must exist.
//
// If ranks share states or round gradients (options `shard` and
// `gradient_exchange`), all of them must call it at the same step: rank 0
// writes the checkpoint, and the others send their parts.
//
// Returns MPC_IO with the cause (no space, no permission, `path` exists and is
// not a checkpoint); MPC_NUMERIC if a weight or statistic is not finite and the
// session does not allow that.
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_save_checkpoint(mpc_session_t* session, const char* path);

// Reads a checkpoint written by mpc_session_save_checkpoint. All or nothing: on
// error the session is unchanged. Training continues bit-exactly as if it had
// not stopped; on CUDA only if both sessions are deterministic.
//
// Tensors are matched by name, type and shape, and checkpoint and program must
// have the same ones. The precision of the program does not matter, because
// checkpoints hold f32 weights, unless --master-weights made them bf16. If the
// checkpoint has no loss scale, the session's keeps its initial value; if the
// program has none, or a constant one, the checkpoint's is dropped.
//
// Returns MPC_IO if it cannot be read, MPC_DAMAGED if a checksum or size is
// wrong, or MPC_INCOMPATIBLE if it belongs to another program.
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_load_checkpoint(mpc_session_t* session, const char* path);

// Finds the newest complete checkpoint `step-<number>` in a folder and loads
// it. Falls back to an older one only if the newest is damaged. If the newest
// cannot be read at the moment (no permission, no file descriptors left),
// returns MPC_IO.
//
// `*out_path` receives the path of the loaded checkpoint (owned by the caller,
// who frees it with mpc_string_free), or NULL if the folder has no checkpoint
// or does not exist. `*out_warning` receives a message about all damaged
// checkpoints that were skipped (same ownership), or NULL.
//
// Returns MPC_DAMAGED if there are checkpoints but none is complete, or
// MPC_INCOMPATIBLE if the newest complete one belongs to another program.
MPC_API MPC_MUST_USE mpc_status_t
mpc_session_load_latest(mpc_session_t* session, const char* folder,
                        char** out_path, char** out_warning);

// The same for a program whose optimizer, or whose type of master weights,
// differs from that of the checkpoint: optimizer states that the program does
// not have are dropped, those that the checkpoint does not have keep their
// initial values, and weights are rounded or widened. `*out_mismatch` receives
// a message about the first such state (same ownership), or NULL.
MPC_API MPC_MUST_USE mpc_status_t mpc_session_resume(mpc_session_t* session,
                                                     const char* folder,
                                                     char** out_path,
                                                     char** out_warning,
                                                     char** out_mismatch);

// Removes all but the newest `keep` (at least 1) complete checkpoints
// `step-<number>` of a folder, and the remains of interrupted saves (their
// process is gone, or nothing has changed for an hour). Removes no checkpoint
// if none is complete, and no folder that contains other files. Links in the
// folder are not followed, not counted and not removed.
MPC_API MPC_MUST_USE mpc_status_t mpc_checkpoint_prune(const char* folder,
                                                       size_t keep);

// Removes only the remains of interrupted saves. A folder that does not exist
// is not an error.
MPC_API MPC_MUST_USE mpc_status_t
mpc_checkpoint_remove_leftovers(const char* folder);

// Frees a string that the caller owns; NULL is allowed.
MPC_API void mpc_string_free(char* string);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_SESSION_H_
