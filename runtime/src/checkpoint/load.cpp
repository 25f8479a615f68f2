// Reading a checkpoint: everything is checked before the session changes.

#include <cinttypes>
#include <cstring>

#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

namespace {

constexpr uint64_t kMostManifest = uint64_t{1} << 16;
constexpr uint64_t kMostState = uint64_t{1} << 30;

// Reads a file that must be there: without it the checkpoint is not whole.
mpc_status_t read_member(Files& files, const std::string& folder,
                         const char* name, uint64_t limit, Memory* out_data) {
  mpc_status_t status = read_file(files, folder + '/' + name, limit, out_data);
  if (mpc_status_code(status) != MPC_IO) return status;
  std::vector<std::string> names;
  if (files.list(folder.c_str(), &names) < 0) return status;
  for (const std::string& present : names)
    if (present == name) return status;
  mpc_status_free(status);
  return mpc_status_make(MPC_DAMAGED, "'%s' is not a whole checkpoint: no %s",
                         folder.c_str(), name);
}

mpc_status_t read_recorded(Files& files, const std::string& folder,
                           const FileRecord& record, uint64_t limit,
                           Memory* out_data) {
  Memory data;
  MPC_RETURN_IF_ERROR(
      read_member(files, folder, record.name.c_str(), limit, &data));
  std::string path = folder + '/' + record.name;
  if (data.size() != record.size)
    return mpc_status_make(MPC_DAMAGED,
                           "'%s' is damaged: it has %zu bytes instead of "
                           "%" PRIu64,
                           path.c_str(), data.size(), record.size);
  if (checksum(data.data(), data.size()) != record.checksum)
    return mpc_status_make(
        MPC_DAMAGED, "'%s' is damaged: its checksum is wrong", path.c_str());
  *out_data = std::move(data);
  return nullptr;
}

std::string type_of(const StoredTensor& tensor) {
  return type_text(tensor.dtype, tensor.shape.data(), tensor.shape.size());
}

// Copies the tensors of one file to their places in `states`. Both sides must
// have the same tensors.
mpc_status_t apply_tensors(const std::string& path, const Memory& file,
                           const mpc_program_t& program, StoredIn kind,
                           uint8_t* states) {
  std::vector<StoredTensor> stored;
  MPC_RETURN_IF_ERROR(
      parse_safetensors(path, file.data(), file.size(), &stored));
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
    if (next == stored.size() || stored[next].name > tensor.name)
      return incompatible("it lacks '" + tensor.name + "'");
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

}  // namespace

mpc_status_t read_checkpoint(Files& files, const std::string& path,
                             CheckpointFiles* out_files) {
  Memory manifest;
  MPC_RETURN_IF_ERROR(
      read_member(files, path, kManifestFile, kMostManifest, &manifest));
  std::vector<FileRecord> records;
  MPC_RETURN_IF_ERROR(parse_manifest(path + '/' + kManifestFile,
                                     reinterpret_cast<char*>(manifest.data()),
                                     manifest.size(), &records));
  CheckpointFiles contents;
  MPC_RETURN_IF_ERROR(
      read_recorded(files, path, records[0], UINT64_MAX, &contents.model));
  MPC_RETURN_IF_ERROR(
      read_recorded(files, path, records[1], UINT64_MAX, &contents.optimizer));
  MPC_RETURN_IF_ERROR(
      read_recorded(files, path, records[2], kMostState, &contents.state));
  *out_files = std::move(contents);
  return nullptr;
}

mpc_status_t load_checkpoint(mpc_session_t* session, const std::string& path) {
  const mpc_program_t& program = *session->program;
  MPC_RETURN_IF_ERROR(check_alive(*session));
  CheckpointFiles contents;
  MPC_RETURN_IF_ERROR(read_checkpoint(*session->files, path, &contents));

  // A copy of the states takes the new values; the session gets it whole. It
  // starts from the program's own, for what a checkpoint need not have.
  Memory states;
  MPC_RETURN_IF_ERROR(make_initial_states(program, 0, &states));
  MPC_RETURN_IF_ERROR(apply_tensors(path + '/' + kModelFile, contents.model,
                                    program, StoredIn::kModel, states.data()));
  MPC_RETURN_IF_ERROR(apply_tensors(path + '/' + kOptimizerFile,
                                    contents.optimizer, program,
                                    StoredIn::kOptimizer, states.data()));
  Progress progress;
  Properties properties;
  MPC_RETURN_IF_ERROR(parse_state(
      path + '/' + kStateFile, reinterpret_cast<char*>(contents.state.data()),
      contents.state.size(), program, states.data(), &progress, &properties));
  renew_working_copies(program, states.data());

  // What is queued has happened, whatever the weights became: they go.
  mpc_status_t queued = finish_steps(session);
  if (queued && mpc_status_code(queued) != MPC_NUMERIC) return queued;
  mpc_status_free(queued);
  MPC_RETURN_IF_ERROR(note_loss(
      session, session->device->upload(schema::Space::State, 0, states.data(),
                                       states.size())));
  session->progress = progress;
  session->properties.swap(properties);
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
