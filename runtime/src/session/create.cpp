// Making a session: memory, initial values, kernels.

#include <memory>
#include <string>
#include <string_view>

#include "runtime/src/base/guard.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

const schema::Buffer* output_of(const schema::Variant& variant, int entry,
                                const char* name) {
  if (entry < 0) return nullptr;
  const Bindings* outputs =
      variant.entries()->Get(static_cast<uint32_t>(entry))->outputs();
  int index = find_binding(outputs, name);
  return index < 0 ? nullptr
                   : outputs->Get(static_cast<uint32_t>(index))->buffer();
}

const StateTensor* control_state(const mpc_program_t& program,
                                 const char* name) {
  int64_t index = program.find_tensor(name);
  if (index < 0) return nullptr;
  const StateTensor* tensor = &program.tensors[static_cast<size_t>(index)];
  return tensor->kind == schema::StateKind::Control ? tensor : nullptr;
}

KnownEntries find_known_entries(const mpc_program_t& program,
                                const schema::Variant& variant) {
  KnownEntries known;
  known.step = find_entry(variant, "step");
  if (known.step < 0) {
    known.step = find_entry(variant, "accumulate");
    known.apply = find_entry(variant, "apply");
  }
  known.evaluate = find_entry(variant, "evaluate");
  int last = known.apply >= 0 ? known.apply : known.step;
  known.loss = output_of(variant, known.step, "loss");
  known.grad_norm = output_of(variant, last, "grad_norm");
  known.step_counter = control_state(program, "step_count");
  if (program.root->loss_scaling()) {
    known.finite = output_of(variant, last, "finite");
    known.loss_scale = control_state(program, "loss_scale");
  }
  return known;
}

mpc_status_t read_options(const mpc_session_options_t* given,
                          mpc_session_options_t* out_options,
                          mpc_allocator_t* out_allocator) {
  mpc_session_options_t options = {};
  if (given)
    MPC_RETURN_IF_ERROR(copy_in(given, "the session's options", &options));
  *out_allocator = options.allocator ? *options.allocator : default_allocator();
  if (!out_allocator->allocate || !out_allocator->release)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the allocator lacks one of its two functions");
  *out_options = options;
  return nullptr;
}

// The variant of `program` for a device ("cpu"), checked for this machine.
mpc_status_t find_device_variant(const mpc_program_t& program,
                                 std::string_view device,
                                 const schema::Variant** out_variant) {
  std::string kind(device.substr(0, device.find(':')));
  const schema::Variant* variant = find_variant(*program.root, kind);
  if (!variant)
    return mpc_status_make(MPC_INCOMPATIBLE,
                           "the package has no code for the device '%s'; "
                           "compile the model with --target=%s",
                           kind.c_str(), kind.c_str());
  if (kind == "cpu") MPC_RETURN_IF_ERROR(check_cpu_features(*variant));
  *out_variant = variant;
  return nullptr;
}

}  // namespace

mpc_status_t create_session(const mpc_program_t* program,
                            const mpc_session_options_t* given, Files& files,
                            mpc_session_t** out_session) {
  mpc_session_options_t options = {};
  DeviceOptions device_options;
  MPC_RETURN_IF_ERROR(read_options(given, &options, &device_options.allocator));
  device_options.threads = options.threads;
  device_options.deterministic = options.deterministic != 0;

  auto session = std::make_unique<mpc_session_s>();
  session->program = program;
  session->files = &files;
  const char* device = options.device ? options.device : "cpu";
  MPC_RETURN_IF_ERROR(open_device(device, device_options, &session->device));
  MPC_RETURN_IF_ERROR(find_device_variant(*program, device, &session->variant));
  session->known = find_known_entries(*program, *session->variant);
  MPC_RETURN_IF_ERROR(session->device->allocate(
      program->root->state_size(), session->variant->arena_size()));
  {
    Memory states;
    MPC_RETURN_IF_ERROR(make_initial_states(*program, options.seed, &states));
    session->device->upload(schema::Space::State, 0, states.data(),
                            states.size());
  }
  MPC_RETURN_IF_ERROR(session->device->prepare(*program, *session->variant,
                                               &session->executable));
  *out_session = session.release();
  return nullptr;
}

}  // namespace mpc::runtime

using namespace mpc::runtime;

mpc_status_t mpc_session_create(const mpc_program_t* program,
                                const mpc_session_options_t* options,
                                mpc_session_t** out_session) {
  if (!program || !out_session)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&] {
    return create_session(program, options, system_files(), out_session);
  });
}

void mpc_session_destroy(mpc_session_t* session) { delete session; }
