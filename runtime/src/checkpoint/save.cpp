// Writes a checkpoint so that it is never visible half-written.

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

namespace {

constexpr uint64_t kPiece = uint64_t{1} << 20;

// Writes one new file sequentially, hashes what it writes, and syncs at the
// end.
class Writer {
 public:
  Writer(Files& files, std::string folder, const char* name)
      : files_(files), path_(std::move(folder) + '/' + name) {
    record_.name = name;
    XXH3_64bits_reset(&hash_);
  }
  ~Writer() {
    if (file_ >= 0) (void)files_.close(file_);
  }

  // Creates the file and reserves disk space for `size` bytes.
  mpc_status_t open(uint64_t size) {
    file_ = files_.open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file_ < 0) return io_error("create", path_, file_);
    int result = size > 0 ? files_.allocate(file_, size) : 0;
    // Not every file system can reserve space; then write() reports a full
    // disk.
    if (result == -ENOSPC || result == -EDQUOT || result == -EFBIG ||
        result == -EIO)
      return io_error("write", path_, result);
    return nullptr;
  }

  mpc_status_t write(const void* data, uint64_t size) {
    auto* bytes = static_cast<const char*>(data);
    XXH3_64bits_update(&hash_, bytes, size);
    record_.size += size;
    while (size > 0) {
      int64_t count = files_.write(file_, bytes, size);
      if (count == -EINTR) continue;
      if (count <= 0)
        return io_error("write", path_,
                        count < 0 ? static_cast<int>(count) : -ENOSPC);
      bytes += count;
      size -= static_cast<uint64_t>(count);
    }
    return nullptr;
  }

  mpc_status_t finish(FileRecord* out_record) {
    int result = files_.sync(file_);
    if (result < 0) return io_error("sync", path_, result);
    result = files_.close(file_);
    file_ = -1;
    if (result < 0 && result != -EINTR) return io_error("close", path_, result);
    record_.checksum = XXH3_64bits_digest(&hash_);
    *out_record = record_;
    return nullptr;
  }

 private:
  Files& files_;
  const std::string path_;
  int file_ = -1;
  FileRecord record_;
  XXH3_state_t hash_;
};

mpc_status_t write_text(Files& files, const std::string& folder,
                        const char* name, const std::string& text,
                        FileRecord* out_record) {
  Writer writer(files, folder, name);
  MPC_RETURN_IF_ERROR(writer.open(text.size()));
  MPC_RETURN_IF_ERROR(writer.write(text.data(), text.size()));
  return writer.finish(out_record);
}

// Weights that are not finite are useless, and saving them may cause the
// removal of a good checkpoint.
mpc_status_t check_finite(const StateTensor& tensor, const void* values,
                          uint64_t first, uint64_t count) {
  uint64_t found = find_non_finite(tensor.dtype, values, count, true);
  if (found == count) return nullptr;
  return mpc_status_make(
      MPC_NUMERIC,
      "the checkpoint is not saved: '%s' is not finite at position %" PRIu64
      "; set the session's option allow_non_finite to save it anyway",
      tensor.name.c_str(), first + found);
}

// Reads the tensors of a checkpoint in pieces, those of the model first. If
// ranks share states, all of them must read all pieces, in this order.
class Pieces {
 public:
  struct Piece {
    const StateTensor* tensor;
    uint64_t first;  // In bytes.
    std::vector<uint8_t> bytes;
  };

  explicit Pieces(const mpc_session_t& session) : session_(session) {
    for (StoredIn kind : {StoredIn::kModel, StoredIn::kOptimizer})
      for (const StateTensor& tensor : session.program->tensors)
        if (stored_in(tensor) == kind) tensors_.push_back(&tensor);
  }

  // Null if there are no more pieces in this file.
  mpc_status_t read(StoredIn kind, const Piece** out_piece) {
    *out_piece = nullptr;
    while (next_ < tensors_.size() && done_ >= tensors_[next_]->bytes) {
      ++next_;
      done_ = 0;
    }
    if (next_ == tensors_.size() || stored_in(*tensors_[next_]) != kind)
      return nullptr;
    piece_.tensor = tensors_[next_];
    piece_.first = done_;
    piece_.bytes.resize(std::min(kPiece, piece_.tensor->bytes - done_));
    MPC_RETURN_IF_ERROR(read_states(session_, piece_.tensor->offset + done_,
                                    piece_.bytes.data(), piece_.bytes.size()));
    done_ += piece_.bytes.size();
    *out_piece = &piece_;
    return nullptr;
  }

  mpc_status_t read_rest() {
    for (StoredIn kind : {StoredIn::kModel, StoredIn::kOptimizer}) {
      const Piece* piece = nullptr;
      do MPC_RETURN_IF_ERROR(read(kind, &piece));
      while (piece);
    }
    return nullptr;
  }

 private:
  const mpc_session_t& session_;
  std::vector<const StateTensor*> tensors_;
  size_t next_ = 0;    // In `tensors_`.
  uint64_t done_ = 0;  // Bytes of that one.
  Piece piece_;
};

mpc_status_t write_tensors(const mpc_session_t& session, Pieces& pieces,
                           const std::string& folder, StoredIn kind,
                           const char* name, FileRecord* out_record) {
  std::vector<StoredTensor> stored;
  for (const StateTensor& tensor : session.program->tensors) {
    if (stored_in(tensor) != kind) continue;
    StoredTensor entry;
    entry.name = tensor.name;
    entry.dtype = tensor.dtype;
    entry.shape.assign(tensor.shape, tensor.shape + tensor.rank);
    entry.bytes = tensor.bytes;
    stored.push_back(std::move(entry));
  }
  std::string header = safetensors_header(&stored);
  uint64_t size = header.size();
  for (const StoredTensor& tensor : stored) size += tensor.bytes;

  Writer writer(*session.files, folder, name);
  MPC_RETURN_IF_ERROR(writer.open(size));
  MPC_RETURN_IF_ERROR(writer.write(header.data(), header.size()));
  for (;;) {
    const Pieces::Piece* piece;
    MPC_RETURN_IF_ERROR(pieces.read(kind, &piece));
    if (!piece) return writer.finish(out_record);
    const uint64_t each = mpc_dtype_size(piece->tensor->dtype);
    if (kind == StoredIn::kModel && !session.allow_non_finite)
      MPC_RETURN_IF_ERROR(check_finite(*piece->tensor, piece->bytes.data(),
                                       piece->first / each,
                                       piece->bytes.size() / each));
    MPC_RETURN_IF_ERROR(writer.write(piece->bytes.data(), piece->bytes.size()));
  }
}

mpc_status_t write_folder(const mpc_session_t& session, Pieces& pieces,
                          const std::string& folder) {
  Files& files = *session.files;
  std::vector<FileRecord> records(3);
  MPC_RETURN_IF_ERROR(write_tensors(session, pieces, folder, StoredIn::kModel,
                                    kModelFile, &records[0]));
  MPC_RETURN_IF_ERROR(write_tensors(session, pieces, folder,
                                    StoredIn::kOptimizer, kOptimizerFile,
                                    &records[1]));
  std::string state;
  MPC_RETURN_IF_ERROR(state_text(session, &state));
  MPC_RETURN_IF_ERROR(
      write_text(files, folder, kStateFile, state, &records[2]));
  FileRecord manifest;
  MPC_RETURN_IF_ERROR(write_text(files, folder, kManifestFile,
                                 manifest_text(records), &manifest));
  return sync_folder(files, folder);
}

// The folder under its temporary name. The destructor removes it unless `keep`
// is set.
struct FreshFolder {
  Files& files;
  const std::string path;
  bool keep = false;
  ~FreshFolder() {
    if (keep) return;
    try {
      (void)remove_checkpoint(files, path);
    } catch (const std::bad_alloc&) {
      // Without memory for its name, the folder stays until it is pruned.
    }
  }
};

bool is_unsupported(int result) {
  return result == -EINVAL || result == -ENOSYS || result == -EOPNOTSUPP;
}

// Replaces the checkpoint `path` if the file system cannot exchange two names.
// Between the two steps the old checkpoint is called "<path>.old-...", where
// load_latest finds it.
mpc_status_t replace_in_two_steps(FreshFolder& fresh, const std::string& path) {
  Files& files = fresh.files;
  std::string aside = unique_sibling_name(path, "old");
  int result = files.rename(path.c_str(), aside.c_str(), 0);
  if (result < 0) return io_error("replace", path, result);
  result = files.rename(fresh.path.c_str(), path.c_str(), 0);
  if (result < 0) {
    (void)files.rename(aside.c_str(), path.c_str(), 0);
    return io_error("replace", path, result);
  }
  fresh.keep = true;
  MPC_RETURN_IF_ERROR(sync_folder(files, parent_folder(path)));
  (void)remove_checkpoint(files, aside);
  return nullptr;
}

mpc_status_t replace(FreshFolder& fresh, const std::string& path) {
  Files& files = fresh.files;
  if (!is_checkpoint_folder(files, path))
    return mpc_status_make(
        MPC_IO, "cannot write '%s': the path exists and is not a checkpoint",
        path.c_str());
  int result = files.rename(fresh.path.c_str(), path.c_str(), RENAME_EXCHANGE);
  if (is_unsupported(result)) return replace_in_two_steps(fresh, path);
  if (result < 0) return io_error("replace", path, result);
  // Remove the old checkpoint, which now has the temporary name, only after the
  // sync: from then on the new one survives a power loss.
  fresh.keep = true;
  MPC_RETURN_IF_ERROR(sync_folder(files, parent_folder(path)));
  fresh.keep = false;
  return nullptr;
}

mpc_status_t move_into_place(FreshFolder& fresh, const std::string& path) {
  Files& files = fresh.files;
  int result = files.rename(fresh.path.c_str(), path.c_str(), RENAME_NOREPLACE);
  if (is_unsupported(result)) {
    std::vector<std::string> names;
    bool exists = files.list(path.c_str(), &names) != -ENOENT;
    result =
        exists ? -EEXIST : files.rename(fresh.path.c_str(), path.c_str(), 0);
  }
  if (result == -EEXIST) return replace(fresh, path);
  if (result < 0) return io_error("create", path, result);
  fresh.keep = true;
  return sync_folder(files, parent_folder(path));
}

mpc_status_t write_checkpoint(mpc_session_t* session, Pieces& pieces,
                              const std::string& given) {
  std::string path = given;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  if (path.empty())
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the path is empty");
  FreshFolder fresh{*session->files, unique_sibling_name(path, "tmp")};
  int result = fresh.files.make_folder(fresh.path.c_str());
  if (result < 0) return io_error("create", fresh.path, result);
  MPC_RETURN_IF_ERROR(
      note_loss(session, write_folder(*session, pieces, fresh.path)));
  return move_into_place(fresh, path);
}

}  // namespace

mpc_status_t save_checkpoint(mpc_session_t* session, const std::string& given) {
  MPC_RETURN_IF_ERROR(check_alive(*session));
  MPC_RETURN_IF_ERROR(finish_steps(session));
  Pieces pieces(*session);
  if (!session->ranks || !session->ranks->save_together())
    return write_checkpoint(session, pieces, given);
  session->ranks->clear_residuals();
  mpc_status_t status = session->ranks->rank() == 0
                            ? write_checkpoint(session, pieces, given)
                            : nullptr;
  if (!session->ranks->sharding()) return status;
  // Other ranks need this one's parts even if it cannot write the files.
  mpc_status_t rest = note_loss(session, pieces.read_rest());
  if (!status) return rest;
  mpc_status_free(rest);
  return status;
}

}  // namespace mpc::runtime

mpc_status_t mpc_session_save_checkpoint(mpc_session_t* session,
                                         const char* path) {
  if (!session || !path)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return mpc::runtime::guard(
      [&] { return mpc::runtime::save_checkpoint(session, path); });
}
