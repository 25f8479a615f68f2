// Creating a session: memory, initial values, kernels.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/devices.h"
#include "runtime/src/base/guard.h"
#include "runtime/src/program/roles.h"
#include "runtime/src/ranks/launcher.h"
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

// The entries for the program's own batch size, or for another one where they
// differ.
KnownEntries find_known_entries(const mpc_program_t& program,
                                const schema::Variant& variant,
                                uint64_t other_batch) {
  using schema::EntryRole;
  using schema::StateRole;
  auto find = [&](EntryRole role) {
    const int other = find_entry(variant, role, other_batch);
    return other >= 0 ? other : find_entry(variant, role);
  };
  KnownEntries known;
  known.step = find(EntryRole::Step);
  if (known.step < 0) {
    known.step = find(EntryRole::Accumulate);
    known.apply = find(EntryRole::Apply);
  }
  known.observe = find(EntryRole::Observe);
  known.derive = find(EntryRole::Derive);
  int last = known.apply >= 0 ? known.apply : known.step;
  known.loss = output_of(variant, known.step, "loss");
  if (known.apply >= 0) {
    known.update_loss = output_of(variant, known.apply, "loss");
    known.batch_finite = output_of(variant, known.step, "finite");
  }
  known.grad_norm = output_of(variant, last, "grad_norm");
  if (known.apply >= 0)
    known.loss_sum = find_tensor(program, StateRole::LossSum);
  known.learning_rate = output_of(variant, last, "learning_rate");
  known.step_counter = find_tensor(program, StateRole::StepCount);
  if (known.learning_rate)
    known.total_steps = find_tensor(program, StateRole::TotalSteps);
  known.finite = output_of(variant, last, "finite");
  known.update_finite = output_of(variant, last, "update_finite");
  if (program.root->loss_scaling())
    known.loss_scale = find_tensor(program, StateRole::LossScale);
  known.loss_scale_floor = loss_scale_floor(program);
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

std::vector<BatchEntries> find_batch_entries(const mpc_program_t& program,
                                             const schema::Variant& variant) {
  std::vector<uint64_t> sizes = {0};
  for (const schema::Entry* entry : *variant.entries())
    if (std::find(sizes.begin(), sizes.end(), entry->other_batch()) ==
        sizes.end())
      sizes.push_back(entry->other_batch());
  std::vector<BatchEntries> list;
  for (uint64_t size : sizes) {
    const KnownEntries known = find_known_entries(program, variant, size);
    list.push_back({known, find_step_reads(known)});
  }
  return list;
}

size_t most_inputs(const schema::Variant& variant) {
  size_t most = 0;
  for (const schema::Entry* entry : *variant.entries())
    if (entry->inputs()) most = std::max<size_t>(most, entry->inputs()->size());
  return most;
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
  if (options.thread_pool) {
    device_options.thread_pool = *options.thread_pool;
    if (!device_options.thread_pool.run)
      return mpc_status_make(MPC_INVALID_ARGUMENT,
                             "the thread pool lacks its function 'run'");
  }
  if (options.gradient_exchange > MPC_GRADIENT_EXCHANGE_BF16)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "option 'gradient_exchange' of the session is none "
                           "of mpc_gradient_exchange_t: %u",
                           static_cast<unsigned>(options.gradient_exchange));
  if (options.shard > MPC_SHARD_GRADIENTS)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "option 'shard' of the session is none of "
                           "mpc_shard_t: %u",
                           static_cast<unsigned>(options.shard));
  device_options.stream = options.stream;
  if (options.code_folder) device_options.code_folder = options.code_folder;

  auto session = std::make_unique<mpc_session_s>();
  session->program = program;
  session->files = &files;
  MPC_RETURN_IF_ERROR(
      Ranks::join(options.communicator, *program, &session->ranks));
  // Each rank of a machine takes another one of its devices.
  if (session->ranks) device_options.index = launched_local_rank();
  session->asynchronous = options.asynchronous != 0 && !session->ranks;
  session->allow_non_finite = options.allow_non_finite != 0;
  OpenedDevice opened;
  MPC_RETURN_IF_ERROR(open_device(
      options.device ? options.device : kernels::kDevices[0].name.data(),
      *program, device_options, &opened));
  session->device = std::move(opened.device);
  session->variant = opened.variant;
  session->device_note = std::move(opened.note);
  session->batches = find_batch_entries(*program, *session->variant);
  session->known = session->batches.front().known;
  session->reads = session->batches.front().reads;
  if (session->ranks) {
    if (session->known.apply < 0)
      return mpc_status_make(MPC_INVALID_ARGUMENT,
                             "the program does not train, but its session has "
                             "a communicator");
    std::vector<uint32_t> entries;
    for (const BatchEntries& batch : session->batches)
      entries.push_back(static_cast<uint32_t>(batch.known.step));
    session->ranks->set_entries(*session->variant, entries, entries.front());
  }
  session->input_room.reserve(most_inputs(*session->variant));
  MPC_RETURN_IF_ERROR(session->device->allocate(
      program->root->state_size(), session->variant->arena_size()));
  if (session->ranks) {
    std::string note;
    MPC_RETURN_IF_ERROR(
        session->ranks->join_devices(session->device.get(), &note));
    if (!session->device_note.empty() && !note.empty())
      session->device_note += "; ";
    session->device_note += note;
  }
  if (session->ranks && options.shard != MPC_SHARD_NONE)
    MPC_RETURN_IF_ERROR(session->ranks->share_update(
        session->device.get(), *session->variant,
        static_cast<uint32_t>(session->known.apply),
        options.shard == MPC_SHARD_GRADIENTS));
  if (session->ranks && options.gradient_exchange == MPC_GRADIENT_EXCHANGE_BF16)
    MPC_RETURN_IF_ERROR(session->ranks->round_gradients(session->device.get()));
  if (uint8_t* states = session->device->host_memory(schema::Space::State)) {
    MPC_RETURN_IF_ERROR(write_initial_states(*program, options.seed, states));
  } else {
    Memory copy;
    MPC_RETURN_IF_ERROR(make_initial_states(*program, options.seed, &copy));
    MPC_RETURN_IF_ERROR(session->device->upload(schema::Space::State, 0,
                                                copy.data(), copy.size()));
  }
  if (session->ranks)
    MPC_RETURN_IF_ERROR(session->ranks->write_seed(session->device.get()));
  MPC_RETURN_IF_ERROR(session->device->prepare(&session->executable));
  MPC_RETURN_IF_ERROR(initialize_states(session.get()));
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

size_t mpc_session_num_kernels(const mpc_session_t* session) {
  return session ? session->executable->kernels().size() : 0;
}

mpc_status_t mpc_session_kernel_info(const mpc_session_t* session, size_t index,
                                     mpc_kernel_info_t* out_info) {
  if (!session || !out_info)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  const auto& kernels = session->executable->kernels();
  if (index >= kernels.size())
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "there is no kernel %zu: the session has %zu", index,
                           kernels.size());
  const auto& kernel = kernels[index];
  const mpc_kernel_info_t info = {sizeof(info),
                                  kernel.kernel.c_str(),
                                  kernel.implementation.c_str(),
                                  kernel.entry.c_str(),
                                  kernel.instruction.c_str(),
                                  kernel.calls,
                                  kernel.workspace_bytes};
  return copy_out(info, out_info);
}

const char* mpc_session_device(const mpc_session_t* session) {
  if (!session) return "";
  const std::string& name = session->device->name();
  try {
    std::string text = name;
    for (const std::string& note :
         {session->device_note, session->executable->note()})
      if (!note.empty()) text += " (" + note + ")";
    session->device_text = std::move(text);
    return session->device_text.c_str();
  } catch (const std::bad_alloc&) {
    return name.c_str();
  }
}
