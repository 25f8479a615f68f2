// Making a session: memory, initial values, kernels.

#include <memory>

#include "runtime/src/base/guard.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

const schema::Buffer* output_of(const schema::Program& root, int entry,
                                const char* name) {
  if (entry < 0) return nullptr;
  const Bindings* outputs =
      root.entries()->Get(static_cast<uint32_t>(entry))->outputs();
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

KnownEntries find_known_entries(const mpc_program_t& program) {
  const schema::Program& root = *program.root;
  KnownEntries known;
  known.step = find_entry(root, "step");
  if (known.step < 0) {
    known.step = find_entry(root, "accumulate");
    known.apply = find_entry(root, "apply");
  }
  known.evaluate = find_entry(root, "evaluate");
  int last = known.apply >= 0 ? known.apply : known.step;
  known.loss = output_of(root, known.step, "loss");
  known.grad_norm = output_of(root, last, "grad_norm");
  known.step_counter = control_state(program, "step_count");
  if (root.loss_scaling()) {
    known.finite = output_of(root, last, "finite");
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
  session->known = find_known_entries(*program);
  MPC_RETURN_IF_ERROR(open_device(options.device ? options.device : "cpu",
                                  device_options, &session->device));
  MPC_RETURN_IF_ERROR(session->device->allocate(program->root->state_size(),
                                                program->root->arena_size()));
  {
    Memory states;
    MPC_RETURN_IF_ERROR(make_initial_states(*program, options.seed, &states));
    session->device->upload(schema::Space::State, 0, states.data(),
                            states.size());
  }
  MPC_RETURN_IF_ERROR(session->device->prepare(*program, &session->executable));
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
