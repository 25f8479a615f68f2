// Runs any entry point without interpreting its outputs.

#include <cstring>

#include "runtime/src/base/guard.h"
#include "runtime/src/program/roles.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

mpc_status_t check_alive(const mpc_session_t& session) {
  if (!session.lost) return nullptr;
  return mpc_status_make(MPC_DEVICE_LOST,
                         "the session was lost in an earlier failure");
}

mpc_status_t note_loss(mpc_session_t* session, mpc_status_t status) {
  const mpc_code_t code = mpc_status_code(status);
  if (code == MPC_DEVICE_LOST || code == MPC_RANK_LOST) session->lost = true;
  return status;
}

mpc_status_t check_schedule(mpc_session_t* session) {
  const StateTensor* state = session->known.total_steps;
  if (!state || session->schedule_known) return nullptr;
  int64_t steps = 0;
  MPC_RETURN_IF_ERROR(note_loss(
      session, session->device->download(schema::Space::State, state->offset,
                                         &steps, sizeof(steps))));
  if (steps <= 0)
    return mpc_status_make(
        MPC_INVALID_ARGUMENT,
        "the learning rate schedule needs the total number of updates, but "
        "state 'total_steps' is %lld; write it with mpc_session_write_state "
        "(i64, rank 0) before the first step, or compile the model with option "
        "'total-steps'=N",
        static_cast<long long>(steps));
  session->schedule_known = true;
  return nullptr;
}

mpc_status_t refresh_derived(mpc_session_t* session) {
  if (session->known.derive < 0 || !session->derived_stale) return nullptr;
  session->derived_stale = false;
  mpc_status_t status = run_entry(
      session, static_cast<uint32_t>(session->known.derive), nullptr, 0);
  session->derived_stale = status != nullptr;
  return status;
}

mpc_status_t run_entry(mpc_session_t* session, uint32_t entry,
                       const mpc_tensor_t* inputs, size_t num_inputs,
                       bool writes_outputs) {
  MPC_RETURN_IF_ERROR(check_alive(*session));
  const schema::EntryRole role =
      role_of(*session->variant->entries()->Get(entry));
  if (role == schema::EntryRole::Backward && !session->has_residuals)
    return mpc_status_make(
        MPC_INVALID_ARGUMENT,
        "'backward' needs what 'forward' leaves for it; run 'forward' first, "
        "again after any state was written");
  MPC_RETURN_IF_ERROR(refresh_derived(session));
  if (changes_weights(*session, entry)) session->derived_stale = true;
  MPC_RETURN_IF_ERROR(
      check_and_queue_inputs(session, entry, inputs, num_inputs));
  MPC_RETURN_IF_ERROR(finish_steps(session));
  if (role == schema::EntryRole::Forward) session->has_residuals = false;
  Submission submission;
  submission.inputs = session->input_room.data();
  submission.num_inputs = num_inputs;
  submission.entries = &entry;
  submission.num_entries = 1;
  if (writes_outputs) {
    submission.outputs = session->output_room.data();
    submission.num_outputs = session->output_room.size();
  }
  Values values;
  MPC_RETURN_IF_ERROR(
      note_loss(session, session->executable->submit(submission)));
  MPC_RETURN_IF_ERROR(note_loss(session, session->executable->wait(&values)));
  if (role == schema::EntryRole::Forward) session->has_residuals = true;
  return nullptr;
}

namespace {

mpc_status_t run(mpc_session_t* session, const char* name,
                 const mpc_tensor_t* inputs, size_t num_inputs,
                 const mpc_tensor_t* outputs, size_t num_outputs) {
  const schema::Variant& variant = *session->variant;
  Device& device = *session->device;
  const int found = find_entry(variant, name);
  if (found < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no entry point '%s'", name);
  const uint32_t entry =
      entry_for(*session, static_cast<uint32_t>(found), inputs, num_inputs);
  const Bindings* bindings = variant.entries()->Get(entry)->outputs();
  MPC_RETURN_IF_ERROR(
      check_tensors(device, bindings, outputs, num_outputs, false));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  if (changes_weights(*session, entry))
    MPC_RETURN_IF_ERROR(check_schedule(session));
  const bool on_host = session->executable->writes_outputs();
  session->output_room.clear();
  for (size_t i = 0; on_host && i < num_outputs; ++i)
    session->output_room.push_back(
        {bindings->Get(static_cast<uint32_t>(i))->buffer(),
         tensor_at(outputs, i).data});
  MPC_RETURN_IF_ERROR(run_entry(session, entry, inputs, num_inputs, on_host));
  if (on_host) return nullptr;
  for (size_t i = 0; i < num_outputs; ++i) {
    const mpc_tensor_t& tensor = tensor_at(outputs, i);
    const schema::Buffer& buffer =
        *bindings->Get(static_cast<uint32_t>(i))->buffer();
    if (!tensor.data) continue;
    MPC_RETURN_IF_ERROR(note_loss(
        session, device.download(buffer.space(), buffer.offset(), tensor.data,
                                 bytes_of(buffer), memory_kind_of(tensor))));
  }
  return nullptr;
}

}  // namespace

}  // namespace mpc::runtime

mpc_status_t mpc_session_run(mpc_session_t* session, const char* entry,
                             const mpc_tensor_t* inputs, size_t num_inputs,
                             const mpc_tensor_t* outputs, size_t num_outputs) {
  if (!session || !entry)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return mpc::runtime::guard([&] {
    return mpc::runtime::run(session, entry, inputs, num_inputs, outputs,
                             num_outputs);
  });
}
