// Reading a checkpoint: everything is checked before the session changes.

#include <cstring>

#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

namespace {

mpc_status_t read_recorded(Files& files, const std::string& folder,
                           const FileRecord& record, Memory* out_data) {
  std::string path = folder + '/' + record.name;
  Memory data;
  mpc_status_t status =
      read_file(files, path, most_bytes_of(record.name), &data);
  if (status) return name_missing(files, folder, record.name, status);
  MPC_RETURN_IF_ERROR(check_size(path, data.size(), record));
  MPC_RETURN_IF_ERROR(
      check_checksum(path, checksum(data.data(), data.size()), record));
  *out_data = std::move(data);
  return nullptr;
}

std::string type_of(const StoredTensor& tensor) {
  return type_text(tensor.dtype, tensor.shape.data(), tensor.shape.size());
}

// Copies the tensors of one file to their places in `states`. Both sides must
// have the same tensors.
mpc_status_t apply_tensors(const std::string& path, const Memory& file,
                           const std::vector<StoredTensor>& stored,
                           const mpc_program_t& program, StoredIn kind,
                           uint8_t* states,
                           std::vector<const StateTensor*>* missing) {
  auto incompatible = [&path](const std::string& what) {
    return mpc_status_make(MPC_INCOMPATIBLE,
                           "'%s' belongs to another program: %s", path.c_str(),
                           what.c_str());
  };
  // Both lists are sorted by name.
  size_t next = 0;
  for (uint32_t index : program.by_name) {
    const StateTensor& tensor = program.tensors[index];
    if (stored_in(tensor) != kind) continue;
    bool lacks = next == stored.size() || stored[next].name > tensor.name;
    if (lacks && pending_of(program, tensor)) {
      missing->push_back(&tensor);
      continue;
    }
    if (lacks) return incompatible("it lacks '" + tensor.name + "'");
    const StoredTensor& found = stored[next++];
    if (found.name != tensor.name)
      return incompatible("the program has no '" + found.name + "'");
    std::string wanted = type_text(tensor.dtype, tensor.shape, tensor.rank);
    if (type_of(found) != wanted)
      return incompatible("'" + tensor.name + "' is " + type_of(found) +
                          ", the program's is " + wanted);
    if (tensor.bytes > 0)
      std::memcpy(states + tensor.offset, file.data() + found.offset,
                  tensor.bytes);
  }
  if (next < stored.size())
    return incompatible("the program has no '" + stored[next].name + "'");
  return nullptr;
}

// The files of a checkpoint, each whole and as the manifest says.
struct CheckpointFiles {
  Memory model, optimizer, state;
};

mpc_status_t read_checkpoint(Files& files, const std::string& path,
                             CheckpointFiles* out_files) {
  std::vector<FileRecord> records;
  MPC_RETURN_IF_ERROR(read_manifest(files, path, &records));
  MPC_RETURN_IF_ERROR(
      read_recorded(files, path, records[0], &out_files->model));
  MPC_RETURN_IF_ERROR(
      read_recorded(files, path, records[1], &out_files->optimizer));
  return read_recorded(files, path, records[2], &out_files->state);
}

}  // namespace

mpc_status_t load_checkpoint(mpc_session_t* session, const std::string& path) {
  const mpc_program_t& program = *session->program;
  MPC_RETURN_IF_ERROR(check_alive(*session));
  CheckpointFiles contents;
  MPC_RETURN_IF_ERROR(read_checkpoint(*session->files, path, &contents));

  // What is damaged is damaged for every program: that comes first.
  StateFile state;
  MPC_RETURN_IF_ERROR(parse_state(
      path + '/' + kStateFile, reinterpret_cast<char*>(contents.state.data()),
      contents.state.size(), &state));
  std::vector<StoredTensor> model, optimizer;
  MPC_RETURN_IF_ERROR(parse_safetensors(path + '/' + kModelFile,
                                        contents.model.data(),
                                        contents.model.size(), &model));
  MPC_RETURN_IF_ERROR(parse_safetensors(path + '/' + kOptimizerFile,
                                        contents.optimizer.data(),
                                        contents.optimizer.size(), &optimizer));

  // A copy of the states takes the new values; the session gets it whole. It
  // starts from the program's own, for what a checkpoint need not have.
  Memory states;
  MPC_RETURN_IF_ERROR(make_initial_states(program, 0, &states));
  std::vector<const StateTensor*> missing;
  MPC_RETURN_IF_ERROR(apply_tensors(path + '/' + kModelFile, contents.model,
                                    model, program, StoredIn::kModel,
                                    states.data(), &missing));
  MPC_RETURN_IF_ERROR(
      apply_tensors(path + '/' + kOptimizerFile, contents.optimizer, optimizer,
                    program, StoredIn::kOptimizer, states.data(), &missing));
  MPC_RETURN_IF_ERROR(apply_state(path + '/' + kStateFile, state, program,
                                  states.data(), &missing));
  for (const StateTensor* tensor : missing)
    std::memcpy(states.data() + tensor->offset,
                states.data() + pending_of(program, *tensor)->offset,
                tensor->bytes);
  renew_working_copies(program, states.data());

  // What is queued has happened, whatever the weights became: they go.
  mpc_status_t queued = finish_steps(session);
  if (queued && mpc_status_code(queued) != MPC_NUMERIC) return queued;
  mpc_status_free(queued);
  MPC_RETURN_IF_ERROR(note_loss(
      session, session->device->upload(schema::Space::State, 0, states.data(),
                                       states.size())));
  session->progress = state.progress;
  session->properties.swap(state.properties);
  return nullptr;
}

}  // namespace mpc::runtime

mpc_status_t mpc_session_load_checkpoint(mpc_session_t* session,
                                         const char* path) {
  if (!session || !path)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return mpc::runtime::guard(
      [&] { return mpc::runtime::load_checkpoint(session, path); });
}
