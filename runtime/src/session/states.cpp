// Access to states by name, their initial values and their working copies.

#include <cinttypes>
#include <cstring>
#include <vector>

#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/program/roles.h"
#include "runtime/src/session/masters.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

mpc_status_t read_states(const mpc_session_t& session, uint64_t offset,
                         void* data, uint64_t size) {
  if (session.ranks && session.ranks->sharding())
    return session.ranks->sharding()->read(offset, data, size);
  return session.device->download(schema::Space::State, offset, data, size);
}

void renew_working_copies(const mpc_program_t& program, uint8_t* states) {
  const auto* list = program.root->states();
  if (!list) return;
  for (const schema::State* state : *list) {
    if (state->kind() != schema::StateKind::WorkingCopy) continue;
    const schema::State& source =
        *list->Get(static_cast<uint32_t>(state->copy_of()));
    (void)round_elements(dtype_of(source.dtype()), states + source.offset(),
                         dtype_of(state->dtype()), states + state->offset(),
                         count_of(state->shape()));
  }
}

mpc_status_t write_initial_states(const mpc_program_t& program, uint64_t seed,
                                  uint8_t* states) {
  MPC_RETURN_IF_ERROR(program.initial.copy(*program.root, states));
  if (const StateTensor* tensor =
          find_tensor(program, schema::StateRole::RandomSeed))
    std::memcpy(states + tensor->offset, &seed, sizeof(seed));
  renew_working_copies(program, states);
  return nullptr;
}

mpc_status_t make_initial_states(const mpc_program_t& program, uint64_t seed,
                                 Memory* out_states) {
  Memory states;
  MPC_RETURN_IF_ERROR(states.allocate(
      default_allocator(), program.root->state_size(), "the initial states"));
  MPC_RETURN_IF_ERROR(write_initial_states(program, seed, states.data()));
  *out_states = std::move(states);
  return nullptr;
}

namespace {

mpc_status_t find_named(const mpc_session_t& session, const char* name,
                        const StateTensor** out_state) {
  int64_t index = session.program->find_tensor(name);
  if (index < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the program has no state '%s'", name);
  *out_state = &session.program->tensors[static_cast<size_t>(index)];
  return nullptr;
}

mpc_status_t find_state(const mpc_session_t& session, const char* name,
                        const mpc_tensor_t& tensor,
                        const StateTensor** out_state) {
  MPC_RETURN_IF_ERROR(find_named(session, name, out_state));
  const StateTensor& state = **out_state;
  if (!is_tensor_size(tensor.struct_size))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "struct_size is not sizeof(mpc_tensor_t)");
  bool same =
      tensor.dtype == state.dtype && tensor.rank == state.rank &&
      (state.rank == 0 ||
       (tensor.shape && std::memcmp(tensor.shape, state.shape,
                                    state.rank * sizeof(int64_t)) == 0));
  if (!same) {
    std::string expected = type_text(state.dtype, state.shape, state.rank);
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "state '%s' is %s; the tensor has another type",
                           name, expected.c_str());
  }
  if (!tensor.data && state.bytes > 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the tensor has no data");
  if (memory_kind_of(tensor) != MemoryKind::kHost)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the tensor must lie in host memory");
  return nullptr;
}

// A piece of a working copy that is about to be written.
struct Rounded {
  uint64_t offset;
  std::vector<uint16_t> values;
};

mpc_status_t write_state(mpc_session_t* session, const char* name,
                         const mpc_tensor_t& tensor) {
  const StateTensor* state = nullptr;
  MPC_RETURN_IF_ERROR(find_state(*session, name, tensor, &state));
  const auto& list = *session->program->root->states();
  if (state->kind == schema::StateKind::WorkingCopy)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "state '%s' is the rounded copy of a parameter; "
                           "write the parameter",
                           name);
  MPC_RETURN_IF_ERROR(check_alive(*session));
  int64_t steps = 0;
  if (state == session->known.step_counter)
    std::memcpy(&steps, tensor.data, sizeof(steps));
  if (steps < 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "state '%s' counts steps; it cannot be %" PRId64,
                           name, steps);
  // Round first: after this point only the device can fail, which loses the
  // session anyway.
  std::vector<Rounded> copies;
  const void* data = tensor.data;
  Memory aligned;
  if (reinterpret_cast<uintptr_t>(data) % mpc_dtype_size(state->dtype) != 0) {
    MPC_RETURN_IF_ERROR(
        aligned.allocate(default_allocator(), state->bytes, "a state"));
    std::memcpy(aligned.data(), data, state->bytes);
    data = aligned.data();
  }
  uint64_t first = (state->offset - list.Get(state->state)->offset()) /
                   mpc_dtype_size(state->dtype);
  for (const schema::State* copy : list) {
    if (copy->kind() != schema::StateKind::WorkingCopy ||
        static_cast<uint32_t>(copy->copy_of()) != state->state)
      continue;
    Rounded rounded{copy->offset() + first * sizeof(uint16_t), {}};
    rounded.values.resize(state->count);
    (void)round_elements(state->dtype, data, dtype_of(copy->dtype()),
                         rounded.values.data(), state->count);
    copies.push_back(std::move(rounded));
  }
  Device& device = *session->device;
  session->derived_stale = true;
  session->has_residuals = false;
  if (state == session->known.total_steps) session->schedule_known = false;
  MPC_RETURN_IF_ERROR(note_loss(
      session,
      device.upload(schema::Space::State, state->offset, data, state->bytes)));
  for (const Rounded& copy : copies)
    MPC_RETURN_IF_ERROR(note_loss(
        session,
        device.upload(schema::Space::State, copy.offset, copy.values.data(),
                      copy.values.size() * sizeof(uint16_t))));
  // The new weight has no rounding error, so its compensation becomes zero.
  if (const StateTensor* compensation =
          compensation_of(*session->program, *state)) {
    std::vector<uint8_t> zeros(compensation->bytes);
    MPC_RETURN_IF_ERROR(note_loss(
        session, device.upload(schema::Space::State, compensation->offset,
                               zeros.data(), zeros.size())));
  }
  if (session->ranks && session->ranks->sharding())
    session->ranks->sharding()->wrote_some();
  return nullptr;
}

}  // namespace

mpc_status_t initialize_states(mpc_session_t* session) {
  int entry = find_entry(*session->variant, schema::EntryRole::Initialize);
  if (entry < 0) return nullptr;
  const Bindings& outputs = *session->variant->entries()
                                 ->Get(static_cast<uint32_t>(entry))
                                 ->outputs();
  MPC_RETURN_IF_ERROR(
      run_entry(session, static_cast<uint32_t>(entry), nullptr, 0));
  // Download all outputs before writing any state: an output may be a view of a
  // state that is written.
  std::vector<Memory> values(outputs.size());
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const schema::Buffer& buffer = *outputs.Get(i)->buffer();
    MPC_RETURN_IF_ERROR(values[i].allocate(
        default_allocator(), bytes_of(buffer), "the initial states"));
    MPC_RETURN_IF_ERROR(session->device->download(
        buffer.space(), buffer.offset(), values[i].data(), bytes_of(buffer),
        MemoryKind::kHost));
  }
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const char* name = outputs.Get(i)->name()->c_str();
    const StateTensor& state =
        session->program
            ->tensors[static_cast<size_t>(session->program->find_tensor(name))];
    mpc_tensor_t tensor = {};
    tensor.struct_size = sizeof(tensor);
    tensor.dtype = state.dtype;
    tensor.rank = state.rank;
    tensor.shape = state.shape;
    tensor.data = values[i].data();
    MPC_RETURN_IF_ERROR(write_state(session, name, tensor));
  }
  return nullptr;
}

}  // namespace mpc::runtime

using namespace mpc::runtime;

namespace {

// Reads a working copy by rounding its source here: in a program for several
// devices, one that does not use the copy does not keep it up to date.
mpc_status_t read_copy(mpc_session_t* session, const StateTensor& copy,
                       void* data) {
  const auto& list = *session->program->root->states();
  const schema::State& state = *list.Get(copy.state);
  const schema::State& source =
      *list.Get(static_cast<uint32_t>(state.copy_of()));
  mpc_dtype_t dtype = dtype_of(source.dtype());
  uint64_t first = (copy.offset - state.offset()) / mpc_dtype_size(copy.dtype);
  uint64_t bytes = copy.count * mpc_dtype_size(dtype);
  Memory masters;
  MPC_RETURN_IF_ERROR(masters.allocate(default_allocator(), bytes, "a state"));
  MPC_RETURN_IF_ERROR(note_loss(
      session,
      read_states(*session, source.offset() + first * mpc_dtype_size(dtype),
                  masters.data(), bytes)));
  (void)round_elements(dtype, masters.data(), copy.dtype, data, copy.count);
  return nullptr;
}

}  // namespace

mpc_status_t mpc_session_read_state(mpc_session_t* session, const char* name,
                                    const mpc_tensor_t* tensor) {
  if (!session || !name || !tensor)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&]() -> mpc_status_t {
    const StateTensor* state = nullptr;
    MPC_RETURN_IF_ERROR(find_state(*session, name, *tensor, &state));
    MPC_RETURN_IF_ERROR(check_alive(*session));
    if (state->kind == schema::StateKind::WorkingCopy && state->count > 0)
      return read_copy(session, *state, tensor->data);
    return note_loss(session, read_states(*session, state->offset, tensor->data,
                                          state->bytes));
  });
}

mpc_status_t mpc_session_write_state(mpc_session_t* session, const char* name,
                                     const mpc_tensor_t* tensor) {
  if (!session || !name || !tensor)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&] { return write_state(session, name, *tensor); });
}

mpc_status_t mpc_session_state_memory(mpc_session_t* session, const char* name,
                                      mpc_tensor_t* out_tensor) {
  if (!session || !name || !out_tensor)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  const StateTensor* state = nullptr;
  MPC_RETURN_IF_ERROR(find_named(*session, name, &state));
  MPC_RETURN_IF_ERROR(check_alive(*session));
  uint8_t* states = session->device->host_memory(schema::Space::State);
  if (!states || state->kind == schema::StateKind::WorkingCopy)
    return mpc_status_make(
        MPC_INVALID_ARGUMENT,
        states
            ? "state '%s' is the rounded copy of a parameter; use the memory "
              "of the parameter"
            : "state '%s' lies in the memory of another device than the CPU; "
              "use mpc_session_read_state",
        name);
  if (session->ranks && session->ranks->sharding() &&
      session->ranks->sharding()->is_shared(state->offset, state->bytes))
    return mpc_status_make(
        MPC_INVALID_ARGUMENT,
        "state '%s' is shared among the ranks, so this one has only a part of "
        "it; use mpc_session_read_state",
        name);
  return copy_out(mpc_tensor_t{sizeof(mpc_tensor_t),
                               state->dtype,
                               state->rank,
                               state->shape,
                               states + state->offset,
                               {MPC_DEVICE_HOST, 0}},
                  out_tensor);
}

void mpc_session_sharded_bytes(const mpc_session_t* session, uint64_t* out_own,
                               uint64_t* out_all) {
  const Sharding* sharding =
      session && session->ranks ? session->ranks->sharding() : nullptr;
  if (out_own) *out_own = sharding ? sharding->own_bytes() : 0;
  if (out_all) *out_all = sharding ? sharding->shared_bytes() : 0;
}
