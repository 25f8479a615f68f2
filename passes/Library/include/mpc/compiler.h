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

// The type of an option, and how its value is written.
typedef enum mpc_option_type_e {
  MPC_OPTION_TEXT = 0,
  MPC_OPTION_SWITCH = 1, // "yes" or "no".
  MPC_OPTION_INTEGER = 2,
  MPC_OPTION_NUMBER = 3,
  MPC_OPTION_TEXTS = 4,    // One text for each call.
  MPC_OPTION_INTEGERS = 5, // "64,256".
  MPC_OPTION_PAIRS = 6,    // A name, '=' or ':', an integer for each call.
} mpc_option_type_t;

// An option of mpc_compile_options_set. Strings are static.
typedef struct mpc_option_info_s {
  size_t struct_size;
  const char *name;
  mpc_option_type_t type;
  const char *metavar;       // Placeholder for the value in help: "N[,N...]".
  const char *default_value; // "" if there is none, or it depends on others.
  const char *section;       // The heading in help: "Optimizer".
  const char *help;          // One line.
} mpc_option_info_t;

// The number of options, and a description of one. Set `struct_size` to
// sizeof(mpc_option_info_t). Returns MPC_INVALID_ARGUMENT if `index` is out of
// range.
MPC_API size_t mpc_compile_num_options(void);
MPC_API MPC_MUST_USE mpc_status_t
mpc_compile_option_info(size_t index, mpc_option_info_t *out_info);

typedef enum mpc_compile_message_kind_e {
  MPC_COMPILE_NOTE = 0, // As mpc_compilation_note.
  MPC_COMPILE_WARNING = 1,
  MPC_COMPILE_ERROR = 2,  // Why there is no program.
  MPC_COMPILE_DETAIL = 3, // Belongs to the error or warning before it.
} mpc_compile_message_kind_t;

// A message of a compilation. Strings are borrowed until the handler returns.
typedef struct mpc_compile_message_s {
  size_t struct_size;
  mpc_compile_message_kind_t kind;
  const char *node; // The ONNX node, or "" if the message is about none.
  const char *op;   // Its type: "Gemm". For other objects of the model, their
                    // kind: "initializer".
  const char *text; // Names neither of them.
  const char
      *rule; // What an error reports: "unsupported-op", an id that stays
             // the same in later versions (docs/guide/python.md). Else "".
} mpc_compile_message_t;

typedef void (*mpc_compile_handler_t)(void *user,
                                      const mpc_compile_message_t *message);

// Sets the handler of all compilations with these options; NULL, the default,
// drops messages. A compilation calls it in its thread, before it returns, and
// mpc_compile_options_set does so for its errors.
// `user` must outlive the compilations.
MPC_API void mpc_compile_options_set_handler(mpc_compile_options_t *options,
                                             mpc_compile_handler_t handler,
                                             void *user);

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

// The same for a model in memory: the bytes of an ONNX file, which are borrowed
// until the call returns. `folder` is where the files are that hold external
// data of the model; if it is NULL, such data is an error. In messages the
// model is called "model.onnx".
MPC_API MPC_MUST_USE mpc_status_t mpc_compile_memory(
    const void *model, size_t size, const char *folder, const char *output,
    const mpc_compile_options_t *options, mpc_compilation_t **out_compilation);

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
