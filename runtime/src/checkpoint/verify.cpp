// Checks of a checkpoint that do not need its program.

#include <algorithm>
#include <cinttypes>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "runtime/src/base/byte_text.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

uint64_t max_bytes_of(const std::string& name) {
  return name == kStateFile ? kMaxState : UINT64_MAX;
}

mpc_status_t name_missing(Files& files, const std::string& folder,
                          const std::string& name, mpc_status_t status) {
  if (mpc_status_code(status) != MPC_IO) return status;
  std::vector<std::string> names;
  if (files.list(folder.c_str(), &names) < 0 ||
      std::find(names.begin(), names.end(), name) != names.end())
    return status;
  mpc_status_free(status);
  return mpc_status_make(MPC_DAMAGED,
                         "'%s' is not a complete checkpoint: no %s",
                         folder.c_str(), name.c_str());
}

mpc_status_t read_manifest(Files& files, const std::string& folder,
                           std::vector<FileRecord>* out_records) {
  constexpr uint64_t kMaxManifest = uint64_t{1} << 16;
  std::string path = folder + '/' + kManifestFile;
  Memory manifest;
  mpc_status_t status = read_file(files, path, kMaxManifest, &manifest);
  if (status) return name_missing(files, folder, kManifestFile, status);
  return parse_manifest(path, reinterpret_cast<char*>(manifest.data()),
                        manifest.size(), out_records);
}

mpc_status_t check_size(const std::string& path, uint64_t size,
                        const FileRecord& record) {
  if (size == record.size) return nullptr;
  return mpc_status_make(MPC_DAMAGED,
                         "'%s' is damaged: it has %" PRIu64
                         " bytes instead of %" PRIu64,
                         path.c_str(), size, record.size);
}

mpc_status_t check_checksum(const std::string& path, uint64_t sum,
                            const FileRecord& record) {
  if (sum == record.checksum) return nullptr;
  return mpc_status_make(MPC_DAMAGED, "'%s' is damaged: its checksum is wrong",
                         path.c_str());
}

namespace {

mpc_status_t open_recorded(Files& files, const std::string& folder,
                           const FileRecord& record, OpenFile* file) {
  std::string path = folder + '/' + record.name;
  mpc_status_t status = file->open(files, path);
  if (status) return name_missing(files, folder, record.name, status);
  MPC_RETURN_IF_ERROR(check_size(path, file->size(), record));
  uint64_t most = max_bytes_of(record.name);
  if (file->size() <= most) return nullptr;
  return mpc_status_make(
      MPC_DAMAGED, "'%s' has %s, more than the %s it may have", path.c_str(),
      ByteText(file->size()).c_str(), ByteText(most).c_str());
}

// Reads the rest of a file in pieces and compares the checksum. `head` is what
// has been read already.
mpc_status_t check_rest(OpenFile* file, const std::string& path,
                        const std::vector<uint8_t>& head,
                        const FileRecord& record) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  XXH3_64bits_update(&hash, head.data(), head.size());
  uint64_t left = file->size() - head.size();
  std::vector<uint8_t> piece(std::min(left, kPiece));
  while (left > 0) {
    uint64_t count = std::min<uint64_t>(left, piece.size());
    MPC_RETURN_IF_ERROR(file->read(piece.data(), count));
    XXH3_64bits_update(&hash, piece.data(), count);
    left -= count;
  }
  return check_checksum(path, XXH3_64bits_digest(&hash), record);
}

mpc_status_t check_tensors(Files& files, const std::string& folder,
                           const FileRecord& record) {
  OpenFile file;
  MPC_RETURN_IF_ERROR(open_recorded(files, folder, record, &file));
  std::string path = folder + '/' + record.name;
  std::vector<uint8_t> head(std::min<uint64_t>(file.size(), 8));
  MPC_RETURN_IF_ERROR(file.read(head.data(), head.size()));
  uint64_t header = safetensors_header_size(head.data(), file.size());
  if (header > head.size()) {
    uint64_t begin = head.size();
    head.resize(header);
    MPC_RETURN_IF_ERROR(file.read(head.data() + begin, header - begin));
  }
  MPC_RETURN_IF_ERROR(check_rest(&file, path, head, record));
  std::vector<StoredTensor> tensors;
  return parse_safetensors(path, head.data(), file.size(), &tensors);
}

mpc_status_t check_state(Files& files, const std::string& folder,
                         const FileRecord& record) {
  OpenFile file;
  MPC_RETURN_IF_ERROR(open_recorded(files, folder, record, &file));
  std::string path = folder + '/' + record.name;
  std::vector<uint8_t> text(file.size());
  MPC_RETURN_IF_ERROR(file.read(text.data(), text.size()));
  MPC_RETURN_IF_ERROR(check_rest(&file, path, text, record));
  StateFile state;
  return parse_state(path, reinterpret_cast<char*>(text.data()), text.size(),
                     &state);
}

}  // namespace

mpc_status_t check_manifest_and_sizes(Files& files, const std::string& path,
                                      uint64_t* out_bytes) {
  *out_bytes = 0;
  std::vector<FileRecord> records;
  MPC_RETURN_IF_ERROR(read_manifest(files, path, &records));
  for (const FileRecord& record : records) {
    OpenFile file;
    MPC_RETURN_IF_ERROR(open_recorded(files, path, record, &file));
    *out_bytes += file.size();
  }
  return nullptr;
}

mpc_status_t verify_checkpoint(Files& files, const std::string& path,
                               uint64_t* out_bytes) {
  MPC_RETURN_IF_ERROR(check_manifest_and_sizes(files, path, out_bytes));
  std::vector<FileRecord> records;
  MPC_RETURN_IF_ERROR(read_manifest(files, path, &records));
  MPC_RETURN_IF_ERROR(check_tensors(files, path, records[0]));
  MPC_RETURN_IF_ERROR(check_tensors(files, path, records[1]));
  return check_state(files, path, records[2]);
}

}  // namespace mpc::runtime
