// Weights that are kept in bf16, and what rounding left out of them.

#ifndef MPC_RUNTIME_SRC_SESSION_MASTERS_H_
#define MPC_RUNTIME_SRC_SESSION_MASTERS_H_

#include <vector>

#include "runtime/src/checkpoint/checkpoint.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {

// "compensation/fc1.weight" holds what bf16 leaves out of "fc1.weight", also
// bf16: the weight is the sum of both. Null for what has none.
const StateTensor* rest_of(const mpc_program_t& program,
                           const StateTensor& weight);

// A checkpoint of other master weights is followed where that is wanted: first
// nothing is left out of any weight, ...
void clear_rests(const mpc_program_t& program, uint8_t* states);

// ... then those of its file are rounded or widened (false if `found`, whose
// bytes are `data`, is not the weight in another of the two types), ...
bool convert_weight(const mpc_program_t& program, const StateTensor& weight,
                    const StoredTensor& found, const uint8_t* data,
                    uint8_t* states);

// ... and what the other file has for weights that are f32 now is added.
void add_rests(const mpc_program_t& program,
               const std::vector<StoredTensor>& optimizer, const uint8_t* file,
               uint8_t* states);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_SESSION_MASTERS_H_
