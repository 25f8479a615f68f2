// Errors of the runtime. C11 and C++17; depends only on the C library.

#ifndef MPC_STATUS_H_
#define MPC_STATUS_H_

#include <stdint.h>

#if defined(__GNUC__)
#define MPC_API __attribute__((visibility("default")))
#define MPC_MUST_USE __attribute__((warn_unused_result))
#define MPC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define MPC_API
#define MPC_MUST_USE
#define MPC_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The code tells what the caller can do about an error; the message says what
// happened.
typedef enum mpc_code_e {
  MPC_OK = 0,
  MPC_INVALID_ARGUMENT = 1,  // Fix the call.
  MPC_INCOMPATIBLE = 2,      // Recompile the model for this machine or runtime.
  MPC_OUT_OF_MEMORY = 3,     // Shrink the batch or free something.
  MPC_UNAVAILABLE = 4,       // No such device or library, or no code for it.
  MPC_DEVICE_LOST = 5,       // Destroy every object of the device.
  MPC_INTERNAL = 6,          // A bug in mpc: report it.
  MPC_IO = 7,                // Check the path, permissions and disk space.
  MPC_DAMAGED = 8,           // Use another copy of the file.
  MPC_NUMERIC = 9,  // Training diverged: lower the learning rate or check the
                    // data.
  MPC_RANK_LOST = 10,  // Another rank is gone: start all ranks again, from the
                       // last checkpoint.
} mpc_code_t;

// NULL is success. Any other status is owned by the caller that receives it,
// who must pass it on or free it with mpc_status_free.
typedef struct mpc_status_s* mpc_status_t;

// Returns MPC_OK for NULL. Borrows `status`.
MPC_API mpc_code_t mpc_status_code(mpc_status_t status);

// Returns the message, or "" for NULL. Borrowed from `status`.
MPC_API const char* mpc_status_message(mpc_status_t status);

// Frees `status`; NULL is allowed.
MPC_API void mpc_status_free(mpc_status_t status);

// Makes a status with a printf-style message. Never returns NULL for a code
// other than MPC_OK: if no memory is left, it returns a static status.
MPC_API MPC_MUST_USE mpc_status_t mpc_status_make(mpc_code_t code,
                                                  const char* format, ...)
    MPC_PRINTF(2, 3);

// Returns the status of `expr` from the enclosing function unless it is NULL.
#define MPC_RETURN_IF_ERROR(expr)        \
  do {                                   \
    mpc_status_t mpc_status_ = (expr);   \
    if (mpc_status_) return mpc_status_; \
  } while (0)

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_STATUS_H_
