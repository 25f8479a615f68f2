// Trains a compiled program as `mpc train` does, with its options: reads data
// in any format, takes batches, evaluates, saves and resumes checkpoints. C99
// and C++11. In a library of its own, libmpctrain, which uses libmpcrt.
//
// The library prints nothing, handles no signals and does not end the process.
// Numbers have a decimal point whatever the locale is, also in the functions
// that it calls.
// Notes and warnings go to the handler of the options; errors are statuses, as
// in session.h. Messages write options as the command line does: "--resume" is
// the option "resume".
//
// Programs and checkpoints are those of the command: either continues what the
// other began, bit for bit.
//
// Different objects may be used by different threads at a time; one object only
// by one thread at a time, except that any thread and any signal handler may
// call mpc_trainer_stop.

#ifndef MPC_TRAIN_H_
#define MPC_TRAIN_H_

#include "mpc/communicator.h"
#include "mpc/program.h"
#include "mpc/session.h"
#include "mpc/status.h"
#include "mpc/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

typedef struct mpc_train_options_s mpc_train_options_t;

// Creates options that all have their default values. The caller must destroy
// `*out_options`.
MPC_API MPC_MUST_USE mpc_status_t
mpc_train_options_create(mpc_train_options_t** out_options);

// Destroys `options`; NULL is allowed. Datasets and trainers have copies.
MPC_API void mpc_train_options_destroy(mpc_train_options_t* options);

// Sets an option of `mpc train` by its name without dashes: "epochs" to "10",
// "eval-split" to "0.1", "no-shuffle" to "yes". `mpc train --help` lists the
// options. An option that is set again gets the new value, except that "map",
// "scale", "normalize" and others that may be given several times get one more.
//
// Returns MPC_INVALID_ARGUMENT, and changes nothing, if there is no such
// option, if the value is wrong, or for options that apply to the command only,
// such as "json": the message says what to use instead. Combinations of options
// are checked when they are used.
MPC_API MPC_MUST_USE mpc_status_t mpc_train_options_set(
    mpc_train_options_t* options, const char* name, const char* value);

typedef enum mpc_message_kind_e {
  MPC_MESSAGE_NOTE = 0,      // What a default, a file or an option leads to.
  MPC_MESSAGE_WARNING = 1,   // A likely mistake, or a step that was left out.
  MPC_MESSAGE_PROGRESS = 2,  // A line for each epoch and each evaluation.
  MPC_MESSAGE_SUMMARY = 3,   // At the end of training; has several lines.
} mpc_message_kind_t;

// Receives a message without final newline. `text` is borrowed until the
// handler returns. The handler is called by the functions below, in their
// thread, and must not call any of them with the same object, except
// mpc_trainer_stop.
typedef void (*mpc_message_handler_t)(void* user, mpc_message_kind_t kind,
                                      const char* text);

// Sets the handler of all datasets and trainers that are created with these
// options from now on; NULL, the default, drops messages. `user` must outlive
// them.
MPC_API void mpc_train_options_set_handler(mpc_train_options_t* options,
                                           mpc_message_handler_t handler,
                                           void* user);

// Lets all trainers that are created with these options from now on train one
// model together with the other ranks; NULL, the default: alone. The struct is
// copied, but what it refers to must outlive the trainers. The program must be
// compiled with the option "data-parallel".
//
// Each rank has a trainer with the same program, data and options, and calls
// the same functions in the same order; what differs is refused. Each goes
// through all batches and runs its own: batch i of an epoch belongs to rank i
// modulo their number. The first rank writes checkpoints and logs. All of them
// send messages. mpc_trainer_run returns on all ranks if mpc_trainer_stop is
// called on one.
//
// If a function fails on one rank only, the others wait for it: call `abort` of
// the communicator, or end the process.
//
// Returns MPC_INVALID_ARGUMENT, and changes nothing, if the communicator is
// invalid.
MPC_API MPC_MUST_USE mpc_status_t mpc_train_options_set_communicator(
    mpc_train_options_t* options, const mpc_communicator_t* communicator);

//===----------------------------------------------------------------------===//
// Datasets
//===----------------------------------------------------------------------===//

// Samples for the inputs of an entry point, found by their names. `entry` is
// "evaluate", "predict", or NULL: what mpc_session_step takes. `options` may be
// NULL; those about data count, such as "map", "normalize", "augment" and, for
// "evaluate", "metrics". `program` must outlive the dataset. The caller must
// destroy `*out_dataset`, after the trainers that use it.
typedef struct mpc_dataset_s mpc_dataset_t;

// Opens a file, a folder or a pattern: all that `mpc train --data` takes.
//
// Returns MPC_INVALID_ARGUMENT if the data does not fit the program, MPC_IO if
// it cannot be read, or MPC_OUT_OF_MEMORY.
MPC_API MPC_MUST_USE mpc_status_t mpc_dataset_open(
    const mpc_program_t* program, const char* entry, const char* path,
    const mpc_train_options_t* options, mpc_dataset_t** out_dataset);

// Takes arrays in host memory that the caller owns, with their names. The first
// dimension of each counts the samples, unless the input has another batch
// dimension. Types are converted as those of files. The elements must neither
// change nor move as long as the dataset exists; `names`, `tensors` and shapes
// are copied. Returns the errors of mpc_dataset_open.
MPC_API MPC_MUST_USE mpc_status_t mpc_dataset_from_arrays(
    const mpc_program_t* program, const char* entry, const char* const* names,
    const mpc_tensor_t* tensors, size_t num_tensors,
    const mpc_train_options_t* options, mpc_dataset_t** out_dataset);

// A program's own storage. Zero the struct, set `struct_size`, then the fields.
typedef struct mpc_dataset_callbacks_s {
  size_t struct_size;
  void* user;
  uint64_t num_samples;
  // Reads `num_samples` samples, whose numbers are below that of the struct.
  // There is a tensor for each input of the entry point, in their order, with
  // the input's type and shape, but with `num_samples` as its batch dimension.
  // Writes all elements; those of an input without batch dimension are the same
  // in each call. A status that is returned ends the call that needs the data,
  // with its code and message.
  mpc_status_t (*read)(void* user, const uint64_t* samples, size_t num_samples,
                       const mpc_tensor_t* tensors, size_t num_tensors);
  // 1: a thread of the library calls `read` for the next batch while a step
  // runs, but never two at a time.
  uint8_t background;
} mpc_dataset_callbacks_t;

// Makes a dataset that calls `callbacks->read`; the struct is copied. The
// options "map", "scale", "normalize", "stride" and "label-shift" are refused,
// because `read` can do what they do. Returns the errors of mpc_dataset_open.
MPC_API MPC_MUST_USE mpc_status_t mpc_dataset_from_callbacks(
    const mpc_program_t* program, const char* entry,
    const mpc_dataset_callbacks_t* callbacks,
    const mpc_train_options_t* options, mpc_dataset_t** out_dataset);

// Destroys `dataset`; NULL is allowed.
MPC_API void mpc_dataset_destroy(mpc_dataset_t* dataset);

// The number of samples, and of samples in a batch; 0 for NULL.
MPC_API uint64_t mpc_dataset_num_samples(const mpc_dataset_t* dataset);
MPC_API uint64_t mpc_dataset_batch_size(const mpc_dataset_t* dataset);

// Reads one batch: from 1 to mpc_dataset_batch_size samples; the last one is
// repeated to fill the batch. `*out_tensors` receives the inputs of the entry
// point, in their order, for mpc_session_step or another function. They are
// borrowed until the next call. Samples are not augmented.
//
// Returns MPC_INVALID_ARGUMENT if a sample does not exist or there are too
// many, or MPC_IO.
MPC_API MPC_MUST_USE mpc_status_t mpc_dataset_read(
    mpc_dataset_t* dataset, const uint64_t* samples, size_t num_samples,
    const mpc_tensor_t** out_tensors, size_t* out_num_tensors);

//===----------------------------------------------------------------------===//
// Trainers
//===----------------------------------------------------------------------===//

typedef struct mpc_trainer_s mpc_trainer_t;

// One update, or the last one of a run. Set `struct_size` to
// sizeof(mpc_trainer_info_t); fields that the caller's version does not have
// are not written.
typedef struct mpc_trainer_info_s {
  size_t struct_size;
  uint64_t step;         // Updates since the beginning of training, also in
                         // earlier runs; skipped ones count.
  uint64_t total_steps;  // The last step, as far as is known.
  uint64_t epoch;        // Counted from 1.
  float loss;            // These are as in mpc_step_info_t; `loss` is that of
  float loss_scale;      // all batches of the update. They are 0 if no update
  float grad_norm;       // was made.
  float learning_rate;
  uint8_t skipped;     // 1 if the step was not finite and changed no weight.
  uint8_t evaluated;   // 1 if there was an evaluation: see mpc_trainer_metric.
  uint8_t saved;       // 1 if there was a checkpoint: mpc_trainer_checkpoint.
  uint8_t done;        // 1 if training is complete.
  uint8_t ends_epoch;  // 1 if the update was the last one of its epoch.
} mpc_trainer_info_t;

// Creates a trainer with its session: opens the checkpoint folder and the logs,
// resumes if the option "resume" is set, and sets initial weights. `program`
// and the datasets must outlive the trainer; several trainers may share them.
// `eval_data` may be NULL: the options "eval-data" and "eval-split" are other
// ways to evaluate. `options` may be NULL. The caller must destroy
// `*out_trainer`.
//
// Returns MPC_INVALID_ARGUMENT for combinations of options that make no sense
// and for data of another program; MPC_IO, for example if the checkpoint folder
// is in use; MPC_DAMAGED or MPC_INCOMPATIBLE for checkpoints; and the errors of
// mpc_session_create and mpc_dataset_open.
MPC_API MPC_MUST_USE mpc_status_t mpc_trainer_create(
    const mpc_program_t* program, const mpc_dataset_t* data,
    const mpc_dataset_t* eval_data, const mpc_train_options_t* options,
    mpc_trainer_t** out_trainer);

// Destroys `trainer` and its session; NULL is allowed. Saves nothing.
MPC_API void mpc_trainer_destroy(mpc_trainer_t* trainer);

// Makes one update with the next batch, or batches if the program accumulates
// gradients, and what is due then: evaluation, checkpoint, logs. Returns when
// all is done. `out_info` may be NULL. If training is complete already, sets
// `out_info->done` and does nothing else.
//
// Returns MPC_NUMERIC if training diverged (the option "on-nan" is "abort"), or
// the errors of mpc_session_step, mpc_session_save_checkpoint and of the data.
// Training cannot continue after an error: create a trainer that resumes from
// the last checkpoint.
MPC_API MPC_MUST_USE mpc_status_t
mpc_trainer_step(mpc_trainer_t* trainer, mpc_trainer_info_t* out_info);

// Makes all updates to the end of training, or until mpc_trainer_stop is
// called: `out_info->done` is 0 then. On a GPU this is faster than
// mpc_trainer_step, because the next batch is queued before a step has ended.
// `out_info`, which may be NULL, describes the last update. Returns the errors
// of mpc_trainer_step.
MPC_API MPC_MUST_USE mpc_status_t mpc_trainer_run(mpc_trainer_t* trainer,
                                                  mpc_trainer_info_t* out_info);

// Makes mpc_trainer_run return after the current step, or, if it is not
// running, after its first one. It saves a checkpoint before, if the option
// "checkpoint-dir" is set. Training can continue. NULL is allowed.
MPC_API void mpc_trainer_stop(mpc_trainer_t* trainer);

// Evaluates the current weights. Does not count for the options "keep-best" and
// "patience", so it does not change the course of training. Returns
// MPC_INVALID_ARGUMENT if there is no data to evaluate on, MPC_NUMERIC if the
// loss is not finite, or the errors of the data.
MPC_API MPC_MUST_USE mpc_status_t mpc_trainer_evaluate(mpc_trainer_t* trainer);

// The numbers of the last evaluation, by the names that the option "keep-best"
// takes: "loss", "accuracy" or "perplexity" if the program computes them, and
// those of the option "metrics", without matrices. None before the first
// evaluation. Names are borrowed until the next evaluation; NULL if `index` is
// out of range. A value may be NaN: it is undefined, such as the recall of a
// class without samples. Returns MPC_INVALID_ARGUMENT, with a list of names, if
// there is none of this name.
MPC_API size_t mpc_trainer_num_metrics(const mpc_trainer_t* trainer);
MPC_API const char* mpc_trainer_metric_name(const mpc_trainer_t* trainer,
                                            size_t index);
MPC_API MPC_MUST_USE mpc_status_t mpc_trainer_metric(
    const mpc_trainer_t* trainer, const char* name, double* out_value);

// Saves a checkpoint "step-<number>" in the folder of the option
// "checkpoint-dir", unless that of the current step exists. All ranks of a
// communicator must call it at the same step. Returns
// MPC_INVALID_ARGUMENT without this option, or the errors of
// mpc_session_save_checkpoint.
MPC_API MPC_MUST_USE mpc_status_t mpc_trainer_save(mpc_trainer_t* trainer);

// The path of the checkpoint that was saved, or resumed, last; "" if there is
// none. Borrowed until the next call with this trainer.
MPC_API const char* mpc_trainer_checkpoint(const mpc_trainer_t* trainer);

// The trainer's session, for all functions of session.h and profile.h between
// steps, except those that step it: mpc_session_step, mpc_session_finish_update
// and mpc_session_synchronize. Borrowed from the trainer.
MPC_API mpc_session_t* mpc_trainer_session(mpc_trainer_t* trainer);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_TRAIN_H_
