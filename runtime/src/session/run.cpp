// Running entry points: one training step, or any of them as it is.

#include <cinttypes>
#include <cstring>

#include "runtime/src/base/guard.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

static mpc_status_t execute(mpc_session_t* session, uint32_t entry) {
  mpc_status_t status = session->executable->run(entry);
  if (status) session->lost = true;
  return status;
}

mpc_status_t run_entry(mpc_session_t* session, uint32_t entry,
                       const mpc_tensor_t* inputs, size_t num_inputs) {
  if (session->lost)
    return mpc_status_make(MPC_DEVICE_LOST,
                           "the session was lost in an earlier failure");
  const Bindings* bindings =
      session->variant->entries()->Get(entry)->inputs();
  MPC_RETURN_IF_ERROR(check_tensors(bindings, inputs, num_inputs, true));
  for (size_t i = 0; i < num_inputs; ++i) {
    const schema::Buffer& buffer =
        *bindings->Get(static_cast<uint32_t>(i))->buffer();
    session->device->upload(buffer.space(), buffer.offset(),
                            tensor_at(inputs, i).data, bytes_of(buffer));
  }
  return execute(session, entry);
}

float read_float(const mpc_session_t& session, const schema::Buffer& buffer) {
  if (buffer.dtype() == schema::DType::F64) {
    double value;
    session.device->download(buffer.space(), buffer.offset(), &value,
                             sizeof(value));
    return static_cast<float>(value);
  }
  float value;
  session.device->download(buffer.space(), buffer.offset(), &value,
                           sizeof(value));
  return value;
}

uint64_t steps_done(const mpc_session_t& session) {
  const StateTensor* counter = session.known.step_counter;
  if (!counter) return session.progress.steps;
  int64_t steps;
  session.device->download(schema::Space::State, counter->offset, &steps,
                           sizeof(steps));
  return steps > 0 ? static_cast<uint64_t>(steps) : 0;
}

namespace {

float read_loss_scale(const mpc_session_t& session) {
  const StateTensor* state = session.known.loss_scale;
  if (!state) return 1.0f;
  float scale;
  session.device->download(schema::Space::State, state->offset, &scale,
                           sizeof(scale));
  return scale;
}

bool read_finite(const mpc_session_t& session) {
  const schema::Buffer* buffer = session.known.finite;
  if (!buffer) return true;
  uint8_t flag;
  session.device->download(buffer->space(), buffer->offset(), &flag,
                           sizeof(flag));
  return flag != 0;
}

mpc_status_t diverged(mpc_session_t* session, const mpc_tensor_t* inputs,
                      size_t num_inputs) {
  std::string where = find_first_non_finite(
      session, static_cast<uint32_t>(session->known.step), inputs, num_inputs);
  return mpc_status_make(
      MPC_NUMERIC,
      "training diverged: gradients overflowed %" PRIu64
      " times in a row at the smallest loss scale; %s; lower the learning rate "
      "or look at the data",
      session->progress.floor_overflows, where.c_str());
}

mpc_status_t step(mpc_session_t* session, const mpc_tensor_t* inputs,
                  size_t num_inputs, mpc_step_info_t* out_info) {
  const KnownEntries& known = session->known;
  if (known.step < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no entry point 'step'");
  if (out_info && out_info->struct_size < sizeof(size_t))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "struct_size of the result is not set");
  Progress& progress = session->progress;
  mpc_step_info_t info = {};
  info.loss_scale = read_loss_scale(*session);
  MPC_RETURN_IF_ERROR(run_entry(session, static_cast<uint32_t>(known.step),
                                inputs, num_inputs));
  info.loss = read_float(*session, *known.loss);
  info.updated = 1;
  if (known.apply >= 0) {
    info.updated =
        ++progress.micro_step >= session->program->root->accumulate();
    if (info.updated) {
      MPC_RETURN_IF_ERROR(execute(session, static_cast<uint32_t>(known.apply)));
      progress.micro_step = 0;
    }
  }
  if (info.updated) {
    info.skipped = !read_finite(*session);
    if (known.grad_norm)
      progress.grad_norm = read_float(*session, *known.grad_norm);
    if (!info.skipped) ++progress.steps;
    bool at_floor = info.loss_scale <= kLossScaleFloor;
    progress.floor_overflows =
        info.skipped && at_floor ? progress.floor_overflows + 1 : 0;
    if (info.skipped) info.updated = 0;
  }
  if (progress.floor_overflows >= kMostFloorOverflows)
    return diverged(session, inputs, num_inputs);
  info.grad_norm = progress.grad_norm;
  info.step = steps_done(*session);
  return out_info ? copy_out(info, out_info) : nullptr;
}

mpc_status_t run(mpc_session_t* session, const char* name,
                 const mpc_tensor_t* inputs, size_t num_inputs,
                 const mpc_tensor_t* outputs, size_t num_outputs) {
  const schema::Variant& variant = *session->variant;
  int entry = find_entry(variant, name);
  if (entry < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no entry point '%s'", name);
  const Bindings* bindings =
      variant.entries()->Get(static_cast<uint32_t>(entry))->outputs();
  MPC_RETURN_IF_ERROR(check_tensors(bindings, outputs, num_outputs, false));
  MPC_RETURN_IF_ERROR(
      run_entry(session, static_cast<uint32_t>(entry), inputs, num_inputs));
  for (size_t i = 0; i < num_outputs; ++i) {
    const mpc_tensor_t& tensor = tensor_at(outputs, i);
    const schema::Buffer& buffer =
        *bindings->Get(static_cast<uint32_t>(i))->buffer();
    if (tensor.data)
      session->device->download(buffer.space(), buffer.offset(), tensor.data,
                                bytes_of(buffer));
  }
  return nullptr;
}

}  // namespace

}  // namespace mpc::runtime

using namespace mpc::runtime;

mpc_status_t mpc_session_step(mpc_session_t* session,
                              const mpc_tensor_t* inputs, size_t num_inputs,
                              mpc_step_info_t* out_info) {
  if (!session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the session is NULL");
  return guard([&] { return step(session, inputs, num_inputs, out_info); });
}

mpc_status_t mpc_session_run(mpc_session_t* session, const char* entry,
                             const mpc_tensor_t* inputs, size_t num_inputs,
                             const mpc_tensor_t* outputs, size_t num_outputs) {
  if (!session || !entry)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&] {
    return run(session, entry, inputs, num_inputs, outputs, num_outputs);
  });
}
