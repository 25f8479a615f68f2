// Compiles ONNX models into packages, as `mpc compile` does, without a process
// of its own. Link libmpccompiler, and libmpcrt for the statuses.

#ifndef MPC_COMPILER_H_
#define MPC_COMPILER_H_

#include <stddef.h>

#include "mpc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

// The options of compilations; any number of compilations can read them at the
// same time.
typedef struct mpc_compile_options_s mpc_compile_options_t;

// Creates options with the defaults of `mpc compile`. The caller must destroy
// them. Returns MPC_OUT_OF_MEMORY.
MPC_API MPC_MUST_USE mpc_status_t
mpc_compile_options_create(mpc_compile_options_t **out_options);

// Destroys `options`; NULL is allowed.
MPC_API void mpc_compile_options_destroy(mpc_compile_options_t *options);

// Sets an option by its name on the command line, without the dashes:
// ("precision", "fp32"), ("batch", "64,256"). An option that the command line
// takes several times ("freeze") is added to with each call. The value of a
// switch is "yes" or "no". "beta1" and "beta2" are set separately; the values
// of "policy" are the lines of the file, one for each call. The file of "init"
// is a safetensors file, an ONNX model or the folder of one checkpoint.
//
// Returns MPC_INVALID_ARGUMENT, with the reason, if there is no such option or
// the value is not allowed.
MPC_API MPC_MUST_USE mpc_status_t mpc_compile_options_set(
    mpc_compile_options_t *options, const char *name, const char *value);

// A model that has been compiled.
typedef struct mpc_compilation_s mpc_compilation_t;

// Compiles the ONNX model in the file `model`. Writes the package to the file
// `output`, completely or not at all; if `output` is NULL, the package stays in
// memory. `options` may be NULL. The caller must destroy `*out_compilation`,
// which is NULL after an error.
//
// Prints nothing. Any number of threads can compile at the same time. A
// compilation uses as many threads as the machine has CPUs.
//
// Returns MPC_INVALID_ARGUMENT if the model cannot be compiled or an option
// does not fit it, MPC_IO if a file cannot be read or written,
// MPC_OUT_OF_MEMORY if the model is too large, or MPC_INTERNAL. The message has
// a line for each fault, which names the ONNX node.
MPC_API MPC_MUST_USE mpc_status_t mpc_compile(
    const char *model, const char *output, const mpc_compile_options_t *options,
    mpc_compilation_t **out_compilation);

// Destroys `compilation`; NULL is allowed.
MPC_API void mpc_compilation_destroy(mpc_compilation_t *compilation);

// The package, for mpc_program_load_memory, and its size in bytes; NULL and 0
// if it was written to a file. Borrowed.
MPC_API const void *
mpc_compilation_package(const mpc_compilation_t *compilation, size_t *out_size);

// The decisions that `mpc compile` prints as notes, such as the loss that was
// chosen. They name options as "option 'loss'". NULL if `index` is out of
// range. Borrowed.
MPC_API size_t mpc_compilation_num_notes(const mpc_compilation_t *compilation);
MPC_API const char *mpc_compilation_note(const mpc_compilation_t *compilation,
                                         size_t index);

// The precision report of the first device, as JSON. Borrowed.
MPC_API const char *
mpc_compilation_report(const mpc_compilation_t *compilation);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // MPC_COMPILER_H_
