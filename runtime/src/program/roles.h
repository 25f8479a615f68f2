// What states and entry points of a package are for.

#ifndef MPC_RUNTIME_SRC_PROGRAM_ROLES_H_
#define MPC_RUNTIME_SRC_PROGRAM_ROLES_H_

#include <string>

#include "runtime/src/program/program.h"

namespace mpc::runtime {

// As the package says; of packages that say nothing, as the name does.
schema::StateRole role_of(const schema::State& state);
schema::EntryRole role_of(const schema::Entry& entry);

// MPC_DAMAGED if a role does not fit what the session does with a state or
// entry point of that role, or if there are two where it takes one.
mpc_status_t check_state_roles(const schema::Program& root);
mpc_status_t check_entry_roles(const schema::Variant& variant);

// The entry point of this role, -1 if there is none.
int find_entry(const schema::Variant& variant, schema::EntryRole role);

// The first tensor of a state of this role, null if there is none.
const StateTensor* find_tensor(const mpc_program_t& program,
                               schema::StateRole role);

// The tensor that `tensor` belongs to: of what is pending the state itself, of
// packs ("compensation/fc1.weight") the weight; null if there is none.
const StateTensor* owner_of(const mpc_program_t& program,
                            const StateTensor& tensor);

// The tensor of a state of this role that belongs to `weight`; null if there is
// none.
const StateTensor* belonging_to(const mpc_program_t& program,
                                const StateTensor& weight,
                                schema::StateRole role);

// "loss_scale" of "mpc.loss_scale": a state of the compiler has "mpc." before
// its usual name, once or more, where the model has a state of that name.
std::string usual_name(const std::string& name);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_PROGRAM_ROLES_H_
