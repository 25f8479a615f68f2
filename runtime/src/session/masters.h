// Master weights in bf16 and their compensation, and conversion of
// checkpoints between f32 and bf16 masters.

#ifndef MPC_RUNTIME_SRC_SESSION_MASTERS_H_
#define MPC_RUNTIME_SRC_SESSION_MASTERS_H_

#include <vector>

#include "runtime/src/checkpoint/checkpoint.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// The compensation of a bf16 weight: "compensation/fc1.weight" holds the
// rounding error of "fc1.weight", also in bf16, and the weight is the sum of
// both. Null if the weight has none.
const StateTensor* compensation_of(const mpc_program_t& program,
                                   const StateTensor& weight);

// To load a checkpoint with master weights of another type, first set all
// compensations to zero, ...
void clear_compensations(const mpc_program_t& program, uint8_t* states);

// ... then round or widen each weight of the file (false if `found`, whose
// bytes are `data`, is not the same weight in the other of the two types), ...
bool convert_weight(const mpc_program_t& program, const StateTensor& weight,
                    const StoredTensor& found, const uint8_t* data,
                    uint8_t* states);

// ... and add the compensations of the optimizer file to weights that are now
// f32.
void add_compensations(const mpc_program_t& program,
                       const std::vector<StoredTensor>& optimizer,
                       const uint8_t* file, uint8_t* states);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_SESSION_MASTERS_H_
