// The complete runtime API: load a program, train it, save checkpoints, see
// where the time goes.

#ifndef MPC_RUNTIME_H_
#define MPC_RUNTIME_H_

#include "mpc/dtype.h"
#include "mpc/profile.h"
#include "mpc/program.h"
#include "mpc/session.h"
#include "mpc/status.h"
#include "mpc/tensor.h"

#endif  // MPC_RUNTIME_H_
