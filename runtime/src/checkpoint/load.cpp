// Reads a checkpoint. Everything is checked before the session changes.

#include <cstring>

#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"
#include "runtime/src/program/roles.h"
#include "runtime/src/session/masters.h"

namespace mpc::runtime {

namespace {

mpc_status_t read_recorded(Files& files, const std::string& folder,
                           const FileRecord& record, Memory* out_data) {
  std::string path = folder + '/' + record.name;
  Memory data;
  mpc_status_t status =
      read_file(files, path, max_bytes_of(record.name), &data);
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

// Whether the tensor is a moment. Adam's bias correction needs the number of
// steps a moment has seen, so if moments restart, the step count does too.
bool is_adams(const StateTensor& tensor) {
  return tensor.role == schema::StateRole::FirstMoment ||
         tensor.role == schema::StateRole::SecondMoment;
}

// Copies the tensors of one file to their places in the states. File and
// program must have the same tensors, unless mismatches are allowed.
class TensorFile {
 public:
  TensorFile(std::string path, const Memory& file,
             const std::vector<StoredTensor>& stored)
      : path_(std::move(path)), file_(file), stored_(stored) {}

  void allow_mismatches(std::string* out_mismatch) { mismatch_ = out_mismatch; }
  void allow_other_masters(std::string* out_mismatch) {
    masters_ = out_mismatch;
  }
  bool moments_begin_anew() const { return moments_begin_anew_; }

  mpc_status_t apply(const mpc_program_t& program, StoredIn kind,
                     uint8_t* states,
                     std::vector<const StateTensor*>* missing) {
    // Both lists are sorted by name.
    for (uint32_t index : program.by_name) {
      const StateTensor& tensor = program.tensors[index];
      if (stored_in(tensor) != kind) continue;
      MPC_RETURN_IF_ERROR(pass_over(&tensor));
      bool lacks = next_ == stored_.size() || stored_[next_].name > tensor.name;
      if (lacks && pending_of(program, tensor)) {
        missing->push_back(&tensor);
      } else if (lacks) {
        moments_begin_anew_ |= is_adams(tensor);
        MPC_RETURN_IF_ERROR(mismatch("it has no '" + tensor.name + "'"));
      } else {
        MPC_RETURN_IF_ERROR(copy(program, tensor, stored_[next_++], states));
      }
    }
    return pass_over(nullptr);
  }

 private:
  // Skips stored tensors that the program does not have, up to `tensor` or the
  // end.
  mpc_status_t pass_over(const StateTensor* tensor) {
    for (; next_ < stored_.size(); ++next_) {
      if (tensor && stored_[next_].name >= tensor->name) break;
      MPC_RETURN_IF_ERROR(
          mismatch("the program does not use '" + stored_[next_].name + "'"));
    }
    return nullptr;
  }

  mpc_status_t copy(const mpc_program_t& program, const StateTensor& tensor,
                    const StoredTensor& found, uint8_t* states) {
    std::string wanted = type_text(tensor.dtype, tensor.shape, tensor.rank);
    if (type_of(found) != wanted) {
      std::string what = "'" + tensor.name + "' is " + type_of(found) +
                         ", the program's is " + wanted;
      if (!masters_ || !convert_weight(program, tensor, found,
                                       file_.data() + found.offset, states))
        return incompatible(what);
      if (masters_->empty()) *masters_ = what;
      return nullptr;
    }
    if (tensor.bytes > 0)
      std::memcpy(states + tensor.offset, file_.data() + found.offset,
                  tensor.bytes);
    return nullptr;
  }

  mpc_status_t incompatible(const std::string& what) const {
    const std::string model_file = std::string("/") + kModelFile;
    const bool is_model = path_.size() > model_file.size() &&
                          path_.compare(path_.size() - model_file.size(),
                                        std::string::npos, model_file) == 0;
    return mpc_status_make(MPC_INCOMPATIBLE,
                           "checkpoint '%s' was made for another %s: %s",
                           parent_folder(path_).c_str(),
                           is_model ? "model" : "program", what.c_str());
  }

  // Returns an error, or records the mismatch and returns null if it is
  // allowed.
  mpc_status_t mismatch(const std::string& what) {
    if (!mismatch_) return incompatible(what);
    if (mismatch_->empty()) *mismatch_ = what;
    return nullptr;
  }

  const std::string path_;
  const Memory& file_;
  const std::vector<StoredTensor>& stored_;
  size_t next_ = 0;
  std::string* mismatch_ = nullptr;
  std::string* masters_ = nullptr;
  bool moments_begin_anew_ = false;
};

// The files of a checkpoint; their sizes and checksums match the manifest.
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

mpc_status_t load_checkpoint(mpc_session_t* session, const std::string& path,
                             std::string* out_mismatch) {
  const mpc_program_t& program = *session->program;
  MPC_RETURN_IF_ERROR(check_alive(*session));
  CheckpointFiles contents;
  MPC_RETURN_IF_ERROR(read_checkpoint(*session->files, path, &contents));

  // Report damage before incompatibility: a damaged file is damaged for every
  // program.
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

  // Collect the new values in a copy of the state memory, which is uploaded as
  // a whole. It starts from the program's initial values, for states that a
  // checkpoint may lack.
  Memory states;
  MPC_RETURN_IF_ERROR(make_initial_states(program, 0, &states));
  std::vector<const StateTensor*> missing;
  if (out_mismatch) out_mismatch->clear();
  clear_compensations(program, states.data());
  TensorFile weights(path + '/' + kModelFile, contents.model, model);
  weights.allow_other_masters(out_mismatch);
  MPC_RETURN_IF_ERROR(
      weights.apply(program, StoredIn::kModel, states.data(), &missing));
  TensorFile kept(path + '/' + kOptimizerFile, contents.optimizer, optimizer);
  kept.allow_mismatches(out_mismatch);
  MPC_RETURN_IF_ERROR(
      kept.apply(program, StoredIn::kOptimizer, states.data(), &missing));
  add_compensations(program, optimizer, contents.optimizer.data(),
                    states.data());
  const StateTensor* counter =
      find_tensor(program, schema::StateRole::StepCount);
  if (kept.moments_begin_anew() && counter) state.control.erase(counter->name);
  MPC_RETURN_IF_ERROR(apply_state(path + '/' + kStateFile, state, program,
                                  states.data(), &missing, out_mismatch));
  for (const StateTensor* tensor : missing)
    std::memcpy(states.data() + tensor->offset,
                states.data() + pending_of(program, *tensor)->offset,
                tensor->bytes);
  renew_working_copies(program, states.data());

  // Wait for queued steps. It does not matter if they diverged, because their
  // weights are replaced.
  mpc_status_t queued = finish_steps(session);
  if (queued && mpc_status_code(queued) != MPC_NUMERIC) return queued;
  mpc_status_free(queued);
  session->derived_stale = true;
  session->has_residuals = false;
  session->schedule_known = false;
  MPC_RETURN_IF_ERROR(note_loss(
      session, session->device->upload(schema::Space::State, 0, states.data(),
                                       states.size())));
  if (session->ranks) {
    MPC_RETURN_IF_ERROR(
        note_loss(session, session->ranks->write_seed(session->device.get())));
    if (Sharding* sharding = session->ranks->sharding()) sharding->made_whole();
    session->ranks->clear_residuals();
  }
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
