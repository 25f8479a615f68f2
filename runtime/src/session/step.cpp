// Training steps: queueing them, and making sense of what they report, which on
// some devices comes later.

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <string>

#include "runtime/src/base/guard.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

int add_value(StepReads* reads, const Value& value) {
  reads->values[reads->count] = value;
  return static_cast<int>(reads->count++);
}

int add_output(StepReads* reads, const schema::Buffer* buffer, uint32_t after) {
  if (!buffer) return -1;
  return add_value(reads, {buffer->space(), buffer->offset(),
                           static_cast<uint32_t>(bytes_of(*buffer)), after});
}

int add_state(StepReads* reads, const StateTensor* state, uint32_t after) {
  if (!state) return -1;
  return add_value(reads, {schema::Space::State, state->offset,
                           static_cast<uint32_t>(state->bytes), after});
}

template <typename T>
T value_of(const Values& values, int index) {
  T value;
  std::memcpy(&value, &values.bits[index], sizeof(value));
  return value;
}

// A number of rank 0 that is f32 or f64.
float float_of(const Values& values, int index, const schema::Buffer& buffer) {
  return buffer.dtype() == schema::DType::F64
             ? static_cast<float>(value_of<double>(values, index))
             : value_of<float>(values, index);
}

// Queues one call of mpc_session_step.
mpc_status_t queue_step(mpc_session_t* session, const mpc_tensor_t* inputs,
                        size_t num_inputs) {
  const KnownEntries& known = session->known;
  Progress& progress = session->progress;
  MPC_RETURN_IF_ERROR(take_inputs(session, static_cast<uint32_t>(known.step),
                                  inputs, num_inputs));
  bool updates = known.apply < 0 || progress.micro_step + 1 >=
                                        session->program->root->accumulate();
  const uint32_t entries[] = {static_cast<uint32_t>(known.step),
                              static_cast<uint32_t>(known.apply)};
  Submission submission;
  submission.inputs = session->input_room.data();
  submission.num_inputs = num_inputs;
  submission.entries = entries;
  submission.num_entries = known.apply >= 0 && updates ? 2 : 1;
  submission.values = session->reads.values;
  submission.num_values = session->reads.count;
  mpc_status_t status = session->executable->submit(submission);
  if (status) {
    session->lost = true;
    return status;
  }
  if (known.apply >= 0)
    progress.micro_step = updates ? 0 : progress.micro_step + 1;
  PendingSteps& pending = session->pending;
  pending.steps[(pending.first + pending.count++) % PendingSteps::kMost] = {
      ++session->num_calls, updates};
  return nullptr;
}

// The mean over the micro-batches of an update.
float mean_loss(const mpc_session_t& session) {
  double batches =
      session.known.apply >= 0 ? session.program->root->accumulate() : 1;
  return static_cast<float>(session.progress.loss_sum / batches);
}

// Waits for the oldest step that is queued and takes in what it reports.
mpc_status_t finish_oldest(mpc_session_t* session) {
  Values values;
  mpc_status_t status = session->executable->wait(&values);
  if (status) {
    session->lost = true;
    return status;
  }
  PendingSteps& pending = session->pending;
  const PendingSteps::Step step = pending.steps[pending.first];
  pending.first = (pending.first + 1) % PendingSteps::kMost;
  --pending.count;

  const KnownEntries& known = session->known;
  const StepReads& reads = session->reads;
  Progress& progress = session->progress;
  mpc_step_info_t info = {};
  info.call = step.call;
  info.loss = float_of(values, reads.loss, *known.loss);
  progress.loss_sum += static_cast<double>(info.loss);
  info.loss_scale =
      reads.loss_scale >= 0 ? value_of<float>(values, reads.loss_scale) : 1.0f;
  if (step.updates) {
    info.skipped =
        reads.finite >= 0 && value_of<uint8_t>(values, reads.finite) == 0;
    info.updated = !info.skipped;
    info.update_loss = known.update_loss ? float_of(values, reads.update_loss,
                                                    *known.update_loss)
                                         : mean_loss(*session);
    progress.loss_sum = 0;
    if (known.grad_norm)
      progress.grad_norm = float_of(values, reads.grad_norm, *known.grad_norm);
    if (!info.skipped) ++progress.steps;
    bool at_floor = info.loss_scale <= kLossScaleFloor;
    progress.floor_overflows =
        info.skipped && at_floor ? progress.floor_overflows + 1 : 0;
  }
  info.grad_norm = progress.grad_norm;
  info.step = progress.steps;
  if (reads.step_counter >= 0)
    info.step = static_cast<uint64_t>(
        std::max<int64_t>(0, value_of<int64_t>(values, reads.step_counter)));
  session->last_step = info;
  return nullptr;
}

mpc_status_t diverged(mpc_session_t* session, const mpc_tensor_t* inputs,
                      size_t num_inputs) {
  uint64_t overflows = session->progress.floor_overflows;
  std::string where;
  MPC_RETURN_IF_ERROR(note_loss(
      session,
      find_first_non_finite(session, static_cast<uint32_t>(session->known.step),
                            inputs, num_inputs, &where)));
  return mpc_status_make(
      MPC_NUMERIC,
      "training diverged: gradients overflowed %" PRIu64
      " times in a row at the smallest loss scale; %s; lower the learning rate "
      "or look at the data",
      overflows, where.c_str());
}

// Finishes steps until at most `keep` are in flight, or all if one diverged.
// `inputs` are those of the last step, null if they are gone.
mpc_status_t finish_until(mpc_session_t* session, size_t keep,
                          const mpc_tensor_t* inputs, size_t num_inputs) {
  bool has_diverged = false;
  while (session->pending.count > (has_diverged ? 0 : keep)) {
    MPC_RETURN_IF_ERROR(finish_oldest(session));
    has_diverged |= session->progress.floor_overflows >= kMostFloorOverflows;
  }
  return has_diverged ? diverged(session, inputs, num_inputs) : nullptr;
}

mpc_status_t check_info(const mpc_step_info_t* out_info) {
  if (out_info && out_info->struct_size < sizeof(size_t))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "struct_size of the result is not set");
  return nullptr;
}

mpc_status_t step(mpc_session_t* session, const mpc_tensor_t* inputs,
                  size_t num_inputs, mpc_step_info_t* out_info) {
  if (session->known.step < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no entry point 'step'");
  MPC_RETURN_IF_ERROR(check_info(out_info));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  MPC_RETURN_IF_ERROR(queue_step(session, inputs, num_inputs));
  size_t keep = session->asynchronous ? session->executable->depth() : 0;
  MPC_RETURN_IF_ERROR(finish_until(session, keep, inputs, num_inputs));
  return out_info ? copy_out(session->last_step, out_info) : nullptr;
}

mpc_status_t synchronize(mpc_session_t* session, mpc_step_info_t* out_info) {
  MPC_RETURN_IF_ERROR(check_info(out_info));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  MPC_RETURN_IF_ERROR(finish_steps(session));
  return out_info ? copy_out(session->last_step, out_info) : nullptr;
}

}  // namespace

StepReads find_step_reads(const KnownEntries& known) {
  StepReads reads;
  if (known.step < 0) return reads;
  // The loss of a micro-batch, before `apply` uses the arena; the rest after
  // the last entry point.
  reads.loss_scale = add_state(&reads, known.loss_scale, 0);
  reads.loss = add_output(&reads, known.loss, 1);
  reads.update_loss = add_output(&reads, known.update_loss, 2);
  reads.grad_norm = add_output(&reads, known.grad_norm, 2);
  reads.finite = add_output(&reads, known.finite, 2);
  reads.step_counter = add_state(&reads, known.step_counter, 2);
  return reads;
}

mpc_status_t finish_steps(mpc_session_t* session) {
  return finish_until(session, 0, nullptr, 0);
}

mpc_status_t steps_done(const mpc_session_t& session, uint64_t* out_steps) {
  const StateTensor* counter = session.known.step_counter;
  *out_steps = session.progress.steps;
  if (!counter) return nullptr;
  int64_t steps;
  MPC_RETURN_IF_ERROR(session.device->download(
      schema::Space::State, counter->offset, &steps, sizeof(steps)));
  *out_steps = steps > 0 ? static_cast<uint64_t>(steps) : 0;
  return nullptr;
}

}  // namespace mpc::runtime

using namespace mpc::runtime;

mpc_status_t mpc_session_step(mpc_session_t* session,
                              const mpc_tensor_t* inputs, size_t num_inputs,
                              mpc_step_info_t* out_info) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  return guard([&] { return step(session, inputs, num_inputs, out_info); });
}

mpc_status_t mpc_session_synchronize(mpc_session_t* session,
                                     mpc_step_info_t* out_info) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  return guard([&] { return synchronize(session, out_info); });
}
