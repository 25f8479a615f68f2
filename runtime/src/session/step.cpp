// Training steps: queueing them and interpreting their results, which on some
// devices arrive later.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/src/base/guard.h"
#include "runtime/src/program/roles.h"
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

// Reads a scalar that is f32 or f64.
float float_of(const Values& values, int index, const schema::Buffer& buffer) {
  return buffer.dtype() == schema::DType::F64
             ? static_cast<float>(value_of<double>(values, index))
             : value_of<float>(values, index);
}

// Queues the work of a call. If that fails harmlessly, as for lack of memory,
// the call does not count.
mpc_status_t queue_call(mpc_session_t* session, const Submission& submission,
                        PendingSteps::Step step) {
  MPC_RETURN_IF_ERROR(
      note_loss(session, session->executable->submit(submission)));
  if (session->known.apply >= 0)
    session->progress.micro_step = step.updates ? 0 : step.batches;
  step.call = ++session->num_calls;
  PendingSteps& pending = session->pending;
  pending.steps[(pending.first + pending.count++) % PendingSteps::kMaxPending] =
      step;
  return nullptr;
}

// Queues the update for the micro-batches since the last update.
mpc_status_t queue_update(mpc_session_t* session, PendingSteps::Step step) {
  const KnownEntries& known = session->known;
  uint32_t entries[2];
  size_t num_entries = 0;
  for (int entry : {known.apply, known.derive})
    if (entry >= 0) entries[num_entries++] = static_cast<uint32_t>(entry);
  Submission submission;
  submission.entries = entries;
  submission.num_entries = num_entries;
  submission.values = session->reads.update_values;
  submission.num_values = session->reads.count;
  return queue_call(session, submission, step);
}

// Queues the update of which each rank computes a part. Ranks have states on
// hosts only, where all work is complete when submit() returns.
mpc_status_t queue_divided_update(mpc_session_t* session,
                                  PendingSteps::Step step) {
  Executable& executable = *session->executable;
  const uint32_t apply = static_cast<uint32_t>(session->known.apply);
  Values none;
  MPC_RETURN_IF_ERROR(session->ranks->sharding()->update([&](const Part& part) {
    Submission submission;
    submission.entries = &apply;
    submission.num_entries = 1;
    submission.part = &part;
    submission.values = session->reads.update_values;
    submission.num_values = session->reads.count;
    MPC_RETURN_IF_ERROR(executable.submit(submission));
    return executable.wait(&none);
  }));
  // The values are those of the last submission that read any.
  const uint32_t derive = static_cast<uint32_t>(session->known.derive);
  Submission rest;
  rest.entries = &derive;
  rest.num_entries = session->known.derive >= 0 ? 1 : 0;
  return queue_call(session, rest, step);
}

// With whom a batch computes means; null: with nobody.
RankMeans* means_of(mpc_session_t* session) {
  return session->ranks && session->ranks->computes_means()
             ? session->ranks.get()
             : nullptr;
}

// See Ranks::agree.
mpc_status_t agree(mpc_session_t* session, int64_t entry) {
  if (!means_of(session)) return nullptr;
  return note_loss(session, session->ranks->agree(entry));
}

// Makes the update of all ranks, after this rank's last micro-batch of it, if
// it has one.
mpc_status_t queue_shared_update(mpc_session_t* session, const Input* inputs,
                                 size_t num_inputs, PendingSteps::Step step) {
  const KnownEntries& known = session->known;
  bool are_summed = false;
  if (step.only_updates) MPC_RETURN_IF_ERROR(agree(session, -1));
  if (!step.only_updates) {
    const uint32_t entry = static_cast<uint32_t>(known.step);
    Submission batch;
    batch.inputs = inputs;
    batch.num_inputs = num_inputs;
    batch.entries = &entry;
    batch.num_entries = 1;
    batch.listener =
        session->ranks->begin_overlap(session->device.get(), entry);
    batch.means = means_of(session);
    Values none;
    mpc_status_t status =
        note_loss(session, session->executable->submit(batch));
    if (!status) status = note_loss(session, session->executable->wait(&none));
    if (batch.listener) {
      mpc_status_t sums = session->ranks->end_overlap(status != nullptr);
      // Other ranks have a part of the gradients, or this one has.
      if (status || sums) session->lost = true;
      if (status)
        mpc_status_free(sums);
      else
        status = sums;
      are_summed = true;
    }
    MPC_RETURN_IF_ERROR(status);
  }
  mpc_status_t status =
      session->ranks->combine(session->device.get(), ++session->shared_updates,
                              step.batches > 0, are_summed);
  if (!status && session->ranks->sharding())
    status = queue_divided_update(session, step);
  if (status) session->lost = true;
  MPC_RETURN_IF_ERROR(status);
  return session->ranks->sharding() ? nullptr : queue_update(session, step);
}

// Queues one call of mpc_session_step.
mpc_status_t queue_step(mpc_session_t* session, const mpc_tensor_t* inputs,
                        size_t num_inputs) {
  const KnownEntries& known = session->known;
  MPC_RETURN_IF_ERROR(refresh_derived(session));
  MPC_RETURN_IF_ERROR(check_and_queue_inputs(
      session, static_cast<uint32_t>(known.step), inputs, num_inputs));
  MPC_RETURN_IF_ERROR(agree(session, known.step));
  const uint64_t batches =
      known.apply < 0 ? 1 : session->progress.micro_step + 1;
  const bool updates =
      known.apply < 0 || batches >= session->program->root->accumulate();
  if (session->ranks && updates)
    return queue_shared_update(session, session->input_room.data(), num_inputs,
                               {0, true, false, batches});
  uint32_t entries[3];
  size_t num_entries = 0;
  for (int entry : {known.step, known.apply, known.derive})
    if (entry >= 0 && (entry == known.step || updates))
      entries[num_entries++] = static_cast<uint32_t>(entry);
  Submission submission;
  submission.inputs = session->input_room.data();
  submission.num_inputs = num_inputs;
  submission.entries = entries;
  submission.num_entries = num_entries;
  submission.values = session->reads.values;
  submission.num_values = session->reads.count;
  submission.means = means_of(session);
  return queue_call(session, submission, {0, updates, false, batches});
}

// The mean loss of the micro-batches of an update.
float mean_loss(const mpc_session_t& session, uint64_t batches) {
  return static_cast<float>(session.progress.loss_sum /
                            static_cast<double>(batches));
}

// What is wrong with a step. An overflow of scaled gradients is not a fault,
// unless it persists with the scale at its minimum.
enum class Fault {
  kNone,
  kLoss,
  kBatchGradients,  // Gradients of a micro-batch between two updates.
  kGradients,
  kUpdate,
  kFloor
};

struct StepOutcome {
  Fault fault = Fault::kNone;
  float loss = 0;  // Loss of the update, or of a batch between updates.
  bool only_updates = false;  // Set for an update only.
  mpc_step_info_t info = {};
};

bool is_set(const Values& values, int flag) {
  return flag < 0 || value_of<uint8_t>(values, flag) != 0;
}

// Whether this is the first batch since the last update that makes the loss
// infinite or NaN. With several batches, tests the sum of their losses, because
// a batch whose labels are all ignored has no loss and adds nothing to the sum.
// Always false in programs that do not test whether steps are finite.
bool makes_loss_non_finite(const mpc_session_t& session, const Values& values,
                           float loss) {
  const StepReads& reads = session.reads;
  if (reads.finite < 0 || session.progress.has_non_finite_batch) return false;
  if (reads.loss_sum < 0) return !std::isfinite(loss);
  return session.known.loss_sum->dtype == MPC_DTYPE_F64
             ? !std::isfinite(value_of<double>(values, reads.loss_sum))
             : !std::isfinite(value_of<float>(values, reads.loss_sum));
}

// Whether this is the first micro-batch since the last update whose gradients
// are not finite although its loss is. Always false with loss scaling, where
// that is not a fault.
bool makes_gradients_non_finite(const mpc_session_t& session,
                                const Values& values) {
  return !is_set(values, session.reads.batch_finite) &&
         !session.progress.has_non_finite_batch &&
         !session.program->root->loss_scaling();
}

// Evaluates the results of an update.
Fault take_update(mpc_session_t* session, const mpc_step_info_t& info,
                  bool loss_non_finite, bool update_finite) {
  Progress& progress = session->progress;
  if (!info.skipped) {
    progress.floor_overflows = 0;
    return update_finite ? Fault::kNone : Fault::kUpdate;
  }
  if (progress.has_non_finite_batch) return Fault::kNone;  // Already reported.
  if (loss_non_finite || !std::isfinite(info.update_loss)) return Fault::kLoss;
  if (!session->program->root->loss_scaling()) return Fault::kGradients;
  const bool at_floor = info.loss_scale <= session->known.loss_scale_floor;
  progress.floor_overflows = at_floor ? progress.floor_overflows + 1 : 0;
  return progress.floor_overflows >= kMaxFloorOverflows ? Fault::kFloor
                                                        : Fault::kNone;
}

// Waits for the oldest queued step and evaluates its results.
mpc_status_t finish_oldest(mpc_session_t* session, StepOutcome* outcome) {
  Values values;
  mpc_status_t status = session->executable->wait(&values);
  if (status) {
    session->lost = true;
    return status;
  }
  PendingSteps& pending = session->pending;
  const PendingSteps::Step step = pending.steps[pending.first];
  pending.first = (pending.first + 1) % PendingSteps::kMaxPending;
  --pending.count;

  const KnownEntries& known = session->known;
  const StepReads& reads = session->reads;
  Progress& progress = session->progress;
  mpc_step_info_t info = {};
  info.call = step.call;
  if (!step.only_updates) info.loss = float_of(values, reads.loss, *known.loss);
  progress.loss_sum += static_cast<double>(info.loss);
  info.loss_scale =
      reads.loss_scale >= 0 ? value_of<float>(values, reads.loss_scale) : 1.0f;
  const bool loss_non_finite =
      makes_loss_non_finite(*session, values, info.loss);
  if (step.updates) {
    info.skipped = !is_set(values, reads.finite);
    info.updated = !info.skipped;
    info.update_loss = known.update_loss ? float_of(values, reads.update_loss,
                                                    *known.update_loss)
                                         : mean_loss(*session, step.batches);
    progress.loss_sum = 0;
    if (known.grad_norm)
      progress.grad_norm = float_of(values, reads.grad_norm, *known.grad_norm);
    if (known.learning_rate)
      progress.learning_rate =
          float_of(values, reads.learning_rate, *known.learning_rate);
    if (!info.skipped)
      ++progress.steps;
    else if (session->ranks)
      session->ranks->clear_residuals();
    outcome->fault = take_update(session, info, loss_non_finite,
                                 is_set(values, reads.update_finite));
  } else if (session->ranks) {
    // At the update, which has no finite loss or norm, all ranks report it.
  } else if (loss_non_finite) {
    outcome->fault = Fault::kLoss;
  } else if (makes_gradients_non_finite(*session, values)) {
    outcome->fault = Fault::kBatchGradients;
  }
  if (step.only_updates) info.loss = info.update_loss;
  outcome->loss = step.updates ? info.update_loss : info.loss;
  outcome->only_updates = step.only_updates;
  progress.has_non_finite_batch =
      !step.updates &&
      (progress.has_non_finite_batch || outcome->fault != Fault::kNone);
  info.grad_norm = progress.grad_norm;
  info.learning_rate = progress.learning_rate;
  info.step = progress.steps;
  if (reads.step_counter >= 0)
    info.step = static_cast<uint64_t>(
        std::max<int64_t>(0, value_of<int64_t>(values, reads.step_counter)));
  session->last_step = outcome->info = info;
  return nullptr;
}

std::string number_text(float value) {
  if (std::isnan(value)) return "nan";  // Never "-nan".
  char text[32];
  std::snprintf(text, sizeof(text), "%g", static_cast<double>(value));
  return text;
}

// Explains an update that overflowed although loss and gradients were finite.
mpc_status_t explain_update(mpc_session_t* session, const StepInputs& inputs,
                            std::string* out_text) {
  const mpc_program_t* program = session->program;
  const char* optimizer = mpc_program_option(program, "optimizer");
  *out_text =
      std::string(
          "weights that would have become infinite or nan in 'optimizer (") +
      (optimizer ? optimizer : "unknown") + ")' kept their values";
  std::string origin;
  MPC_RETURN_IF_ERROR(find_non_finite_update(session, inputs, &origin));
  if (!origin.empty()) *out_text += "; " + origin;
  const StateTensor* rate =
      find_tensor(*program, schema::StateRole::LearningRate);
  if (!rate || rate->dtype != MPC_DTYPE_F32) return nullptr;
  float value;
  MPC_RETURN_IF_ERROR(session->device->download(
      schema::Space::State, rate->offset, &value, sizeof(value)));
  *out_text += "; the learning rate is " + number_text(value);
  return nullptr;
}

// Makes the error for a step whose fault is known; runs the step again to find
// where the fault comes from.
mpc_status_t explain(mpc_session_t* session, const StepOutcome& outcome,
                     const StepInputs& inputs) {
  std::string where;
  mpc_status_t status =
      outcome.fault == Fault::kUpdate
          ? explain_update(session, inputs, &where)
          : find_first_non_finite(session,
                                  static_cast<uint32_t>(session->known.step),
                                  inputs, &where);
  MPC_RETURN_IF_ERROR(note_loss(session, status));
  std::string what;
  switch (outcome.fault) {
    case Fault::kNone:
      return nullptr;
    case Fault::kLoss:
      what = "the loss is " + number_text(outcome.loss) +
             ", so the weights are not updated";
      break;
    case Fault::kBatchGradients:
      what =
          "the gradients of a micro-batch are not finite, so the weights are "
          "not updated";
      break;
    case Fault::kGradients:
      what = "the norm of the gradients is " +
             number_text(outcome.info.grad_norm) +
             ", so the weights are not updated";
      break;
    case Fault::kUpdate:
      what = "the update is not finite";
      break;
    case Fault::kFloor:
      what = "training diverged: gradients overflowed " +
             std::to_string(session->progress.floor_overflows) +
             " times in a row at the smallest loss scale";
      break;
  }
  const bool is_model_broken = where.rfind("parameter '", 0) == 0;
  return mpc_status_make(
      MPC_NUMERIC, "%s; %s%s", what.c_str(), where.c_str(),
      is_model_broken ? "" : "; lower the learning rate or check the data");
}

// Finishes steps until at most `keep` are in flight. If one has a fault,
// finishes all steps, and explains and describes in `*out_info` the first such
// step. `inputs` are those of the step queued last, null if no longer
// available.
mpc_status_t finish_until(mpc_session_t* session, size_t keep,
                          const mpc_tensor_t* inputs, size_t num_inputs,
                          mpc_step_info_t* out_info) {
  StepOutcome first;
  while (session->pending.count >
         (first.fault != Fault::kNone ? size_t{0} : keep)) {
    StepOutcome outcome;
    MPC_RETURN_IF_ERROR(finish_oldest(session, &outcome));
    if (first.fault == Fault::kNone) first = outcome;
  }
  *out_info = session->last_step;
  if (first.fault == Fault::kNone) return nullptr;
  *out_info = first.info;
  StepInputs found;
  // An update on its own has no batch to run again: each of its micro-batches
  // was good.
  constexpr size_t kGone = SIZE_MAX;
  found.later =
      first.only_updates ? kGone : session->num_calls - first.info.call;
  if (found.later == 0) {
    found.tensors = inputs;
    found.count = num_inputs;
  }
  return explain(session, first, found);
}

const char* name_of(const mpc_session_t& session, int entry) {
  return session.variant->entries()
      ->Get(static_cast<uint32_t>(entry))
      ->name()
      ->c_str();
}

mpc_status_t check_info(const mpc_step_info_t* out_info) {
  if (out_info && out_info->struct_size < sizeof(size_t))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "struct_size of the result is not set");
  return nullptr;
}

// Returns `status`. Fills `*out_info` if the step ran, even if it was not
// finite.
mpc_status_t fill_step_info(mpc_status_t status, const mpc_step_info_t& info,
                            mpc_step_info_t* out_info) {
  if (!out_info || (status && mpc_status_code(status) != MPC_NUMERIC))
    return status;
  mpc_status_t copied = copy_out(info, out_info);
  if (!status) return copied;
  mpc_status_free(copied);
  return status;
}

// Uses the entry points for the batch size of these inputs. Steps of another
// size must have finished: `*out_info` describes the last one, and if one has a
// fault, `*out_fault` is its error, which is not an error of this function.
mpc_status_t choose_batch(mpc_session_t* session, const mpc_tensor_t* inputs,
                          size_t num_inputs, mpc_step_info_t* out_info,
                          mpc_status_t* out_fault) {
  const int own = session->batches.front().known.step;
  const int wanted = static_cast<int>(
      entry_for(*session, static_cast<uint32_t>(own), inputs, num_inputs));
  const Bindings* bindings =
      session->variant->entries()->Get(static_cast<uint32_t>(wanted))->inputs();
  if (!fit(bindings, inputs, num_inputs)) return nullptr;  // See queue_step.
  const Progress& progress = session->progress;
  if (progress.micro_step > 0 && progress.micro_entry >= 0 &&
      progress.micro_entry != wanted)
    return mpc_status_make(
        MPC_INVALID_ARGUMENT,
        "the micro-batches of an update must have one size, but %llu of '%s' "
        "are followed by one of '%s'; call mpc_session_finish_update before "
        "the size changes",
        static_cast<unsigned long long>(progress.micro_step),
        name_of(*session, progress.micro_entry), name_of(*session, wanted));
  session->progress.micro_entry = wanted;
  if (session->known.step == wanted) return nullptr;
  mpc_status_t status = finish_until(session, 0, nullptr, 0, out_info);
  if (status && mpc_status_code(status) != MPC_NUMERIC) return status;
  *out_fault = status;
  for (const BatchEntries& batch : session->batches)
    if (batch.known.step == wanted) {
      session->known = batch.known;
      session->reads = batch.reads;
    }
  return nullptr;
}

mpc_status_t step(mpc_session_t* session, const mpc_tensor_t* inputs,
                  size_t num_inputs, mpc_step_info_t* out_info) {
  if (session->known.step < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no entry point 'step'");
  MPC_RETURN_IF_ERROR(check_info(out_info));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  MPC_RETURN_IF_ERROR(check_schedule(session));
  mpc_step_info_t info;
  mpc_status_t fault = nullptr;  // A step that was queued earlier had it.
  if (session->batches.size() > 1)
    MPC_RETURN_IF_ERROR(
        choose_batch(session, inputs, num_inputs, &info, &fault));
  mpc_status_t status = queue_step(session, inputs, num_inputs);
  if (fault && !status) return fill_step_info(fault, info, out_info);
  mpc_status_free(fault);
  MPC_RETURN_IF_ERROR(status);
  size_t keep = session->asynchronous ? session->executable->depth() : 0;
  return fill_step_info(finish_until(session, keep, inputs, num_inputs, &info),
                        info, out_info);
}

mpc_status_t synchronize(mpc_session_t* session, mpc_step_info_t* out_info) {
  MPC_RETURN_IF_ERROR(check_info(out_info));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  mpc_step_info_t info;
  return fill_step_info(finish_until(session, 0, nullptr, 0, &info), info,
                        out_info);
}

// Whether updates weight their micro-batches by the actual sum, so that there
// may be fewer than the program was compiled for.
bool supports_incomplete_updates(const mpc_session_t& session) {
  const char* how = mpc_program_option(session.program, "incomplete-updates");
  return how && std::strcmp(how, "weighted") == 0;
}

mpc_status_t finish_update(mpc_session_t* session, mpc_step_info_t* out_info) {
  MPC_RETURN_IF_ERROR(check_info(out_info));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  mpc_step_info_t info;
  if (session->progress.micro_step > 0 || session->ranks) {
    if (!supports_incomplete_updates(*session))
      return mpc_status_make(
          MPC_INVALID_ARGUMENT,
          "an update of this program takes exactly %u micro-batches, found "
          "%llu; compile the model again with this version of mpc",
          session->program->root->accumulate(),
          static_cast<unsigned long long>(session->progress.micro_step));
    MPC_RETURN_IF_ERROR(check_schedule(session));
    // An earlier step may have failed, which must be reported first.
    MPC_RETURN_IF_ERROR(fill_step_info(
        finish_until(session, 0, nullptr, 0, &info), info, out_info));
    const PendingSteps::Step step = {0, true, true,
                                     session->progress.micro_step};
    MPC_RETURN_IF_ERROR(session->ranks
                            ? queue_shared_update(session, nullptr, 0, step)
                            : queue_update(session, step));
  }
  return fill_step_info(finish_until(session, 0, nullptr, 0, &info), info,
                        out_info);
}

}  // namespace

StepReads find_step_reads(const KnownEntries& known) {
  StepReads reads;
  if (known.step < 0) return reads;
  // The loss of a micro-batch is read before `apply` reuses the arena; most
  // other values are read after the last entry point.
  reads.loss_scale = add_state(&reads, known.loss_scale, 0);
  reads.loss = add_output(&reads, known.loss, 1);
  reads.loss_sum = add_state(&reads, known.loss_sum, 1);
  reads.update_loss = add_output(&reads, known.update_loss, 2);
  reads.grad_norm = add_output(&reads, known.grad_norm, 2);
  reads.learning_rate = add_output(&reads, known.learning_rate, 2);
  reads.finite = add_output(&reads, known.finite, 2);
  reads.update_finite = add_output(&reads, known.update_finite, 2);
  reads.batch_finite = add_output(&reads, known.batch_finite, 1);
  reads.step_counter = add_state(&reads, known.step_counter, 2);
  std::copy(reads.values, reads.values + reads.count, reads.update_values);
  for (Value& value : reads.update_values) value.after -= value.after > 0;
  return reads;
}

mpc_status_t finish_steps(mpc_session_t* session) {
  mpc_step_info_t info;
  return finish_until(session, 0, nullptr, 0, &info);
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

mpc_status_t mpc_session_finish_update(mpc_session_t* session,
                                       mpc_step_info_t* out_info) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  return guard([&] { return finish_update(session, out_info); });
}
