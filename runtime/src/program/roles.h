// Roles of states and entry points of a package.

#ifndef MPC_RUNTIME_SRC_PROGRAM_ROLES_H_
#define MPC_RUNTIME_SRC_PROGRAM_ROLES_H_

#include <string>

#include "runtime/src/program/program.h"

namespace mpc::runtime {

// The role that the package records; in packages without roles, the role that
// the name implies.
schema::StateRole role_of(const schema::State& state);
schema::EntryRole role_of(const schema::Entry& entry);

// MPC_DAMAGED if a state or entry point does not meet what sessions expect of
// its role, or if there are two of a role that must be unique.
mpc_status_t check_state_roles(const schema::Program& root);
mpc_status_t check_entry_roles(const schema::Variant& variant);

// MPC_DAMAGED unless each entry point for another batch size differs from the
// one for the program's own in extents only. Their bindings must have been
// checked.
mpc_status_t check_other_batches(const schema::Variant& variant);

// The entry point of this role for the program's own batch size, or for another
// one; -1 if there is none.
int find_entry(const schema::Variant& variant, schema::EntryRole role,
               uint64_t other_batch = 0);

// The batch size according to the inputs; 0 if no input has a batch dimension.
uint64_t batch_size_of(const schema::Entry& entry);

// Whether an output of `evaluate` is one loss of a sum.
bool is_part_of_loss(const schema::Binding& output);

// The first tensor of a state of this role, null if there is none.
const StateTensor* find_tensor(const mpc_program_t& program,
                               schema::StateRole role);

// The tensor that `tensor` belongs to: for a pending state, the state itself;
// for a slot of a pack ("compensation/fc1.weight"), the weight; null if there
// is none.
const StateTensor* owner_of(const mpc_program_t& program,
                            const StateTensor& tensor);

// The tensor of a state of this role that belongs to `weight`; null if there is
// none.
const StateTensor* belonging_to(const mpc_program_t& program,
                                const StateTensor& weight,
                                schema::StateRole role);

// "loss_scale" for "mpc.loss_scale". If the model has a state of the usual
// name, the compiler prefixes the name of its own state with "mpc.", if
// necessary several times.
std::string usual_name(const std::string& name);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_PROGRAM_ROLES_H_
