// What the modes of mpc-train-driver share.
#ifndef MPC_TEST_TOOLS_MPC_LIBRARY_DRIVER_H
#define MPC_TEST_TOOLS_MPC_LIBRARY_DRIVER_H

#include <mpc/train.h>

// Prints the message and exits if a call failed.
void check(mpc_status_t status);

// Options of the form NAME=VALUE; messages go to stderr.
mpc_train_options_t *parse_options(char **texts);

// Data for a program: "file" opens PATH, an .npz file; "arrays", "callbacks"
// and "background" read images.npy and labels.npy in the folder PATH.
mpc_dataset_t *open_data(const mpc_program_t *program, const char *entry,
                         const char *kind, const char *path,
                         const mpc_train_options_t *options);

// Calls functions of the library as they must not be called, and prints codes
// and messages.
int misuse(const char *package, const char *data, const char *arrays);

#endif // MPC_TEST_TOOLS_MPC_LIBRARY_DRIVER_H
