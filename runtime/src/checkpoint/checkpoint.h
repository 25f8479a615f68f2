// Checkpoints: a folder of four files.
//
//   model.safetensors      parameters and statistics, by their ONNX names
//   optimizer.safetensors  what the optimizer keeps ("adam.first_moment/w")
//   state.json             control states bit for bit, progress, properties
//   MANIFEST.json          size and XXH3 of the others; written last
//
// "pending/NAME" is what micro-batches since the last update made of NAME;
// where a checkpoint of before there were such lacks it, it starts from NAME.
//
// Constants and working copies are not stored: the program has the first, the
// second are rounded again. A checkpoint fits a program if every tensor that
// the program would store is in it under the same name, with the same type and
// shape, and no other. The precision of the program is not part of that:
// masters are f32 in all of them, but for those compiled for bf16 ones (then
// "compensation/w" of optimizer.safetensors may hold what bf16 leaves out).
// Loss scale and streak keep the program's initial value where the checkpoint
// has none, and are dropped where the program has none.

#ifndef MPC_RUNTIME_SRC_CHECKPOINT_CHECKPOINT_H_
#define MPC_RUNTIME_SRC_CHECKPOINT_CHECKPOINT_H_

#include <map>
#include <string>
#include <vector>

#include "mpc/session.h"
#include "runtime/src/base/files.h"
#include "runtime/src/base/json.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

inline constexpr char kModelFile[] = "model.safetensors";
inline constexpr char kOptimizerFile[] = "optimizer.safetensors";
inline constexpr char kStateFile[] = "state.json";
inline constexpr char kManifestFile[] = "MANIFEST.json";
inline constexpr uint32_t kCheckpointFormat = 1;

//===----------------------------------------------------------------------===//
// MANIFEST.json
//===----------------------------------------------------------------------===//

struct FileRecord {
  std::string name;
  uint64_t size = 0;
  uint64_t checksum = 0;
};

// The one text for these records.
std::string manifest_text(const std::vector<FileRecord>& records);

// Reads exactly what manifest_text writes, with the files of a checkpoint in
// their order. MPC_DAMAGED otherwise; MPC_INCOMPATIBLE for a newer format.
mpc_status_t parse_manifest(const std::string& path, const char* data,
                            size_t size, std::vector<FileRecord>* out_records);

// MANIFEST.json of a checkpoint.
mpc_status_t read_manifest(Files& files, const std::string& folder,
                           std::vector<FileRecord>* out_records);

// MPC_DAMAGED if a file is not the one that is recorded.
mpc_status_t check_size(const std::string& path, uint64_t size,
                        const FileRecord& record);
mpc_status_t check_checksum(const std::string& path, uint64_t sum,
                            const FileRecord& record);

// `status`, or that the checkpoint is not whole if a file could not be read
// because it is not there.
mpc_status_t name_missing(Files& files, const std::string& folder,
                          const std::string& name, mpc_status_t status);

// What is read into memory as a whole and parsed has a limit.
inline constexpr uint64_t kMaxState = uint64_t{1} << 26;
uint64_t most_bytes_of(const std::string& name);

//===----------------------------------------------------------------------===//
// *.safetensors
//===----------------------------------------------------------------------===//

// A tensor of a file; `offset` counts from the start of the file.
struct StoredTensor {
  std::string name;
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Lays `tensors` out one after the other (sets `offset`) and returns the bytes
// before the first: length and header.
std::string safetensors_header(std::vector<StoredTensor>* tensors);

// How many bytes at the beginning of a file of `size` bytes parse_safetensors
// looks at, read from the first 8 of them; 0 if there is no such file.
uint64_t safetensors_header_size(const uint8_t* data, uint64_t size);

// Reads the header of a file and checks it against the file's size: every byte
// belongs to exactly one tensor. Sorted by name. Takes memory in proportion to
// the header, whatever it says.
mpc_status_t parse_safetensors(const std::string& path, const uint8_t* data,
                               uint64_t size,
                               std::vector<StoredTensor>* out_tensors);

//===----------------------------------------------------------------------===//
// state.json
//===----------------------------------------------------------------------===//

// XXH3 over names, types and shapes of what a checkpoint of the program
// stores (without the loss scale) and the names of its entry points: equal for
// programs that can exchange checkpoints as they are.
uint64_t program_hash(const mpc_program_t& program);

// MPC_INVALID_ARGUMENT if there are more properties than can be read again.
mpc_status_t state_text(const mpc_session_t& session, std::string* out_text);

// What state.json says, whatever the program.
struct StateFile {
  struct Control {
    std::string type;            // "f32[2,3]".
    std::vector<uint8_t> bytes;  // As many as the type has.
  };
  std::map<std::string, Control> control;
  Progress progress;
  Properties properties;
};
mpc_status_t parse_state(const std::string& path, const char* data, size_t size,
                         StateFile* out_state);

// Writes the control states to `states`, a copy of the state memory, and lists
// in `missing` those that the checkpoint need not have and has not.
// `out_misfit` as in load_checkpoint.
mpc_status_t apply_state(const std::string& path, const StateFile& state,
                         const mpc_program_t& program, uint8_t* states,
                         std::vector<const StateTensor*>* missing,
                         std::string* out_misfit);

// What micro-batches make of a tensor before its update: null for other names.
const StateTensor* pending_of(const mpc_program_t& program,
                              const StateTensor& tensor);

// The file of a checkpoint that stores a tensor.
enum class StoredIn { kNowhere, kModel, kOptimizer, kState };
StoredIn stored_in(const StateTensor& tensor);

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

mpc_status_t save_checkpoint(mpc_session_t* session, const std::string& path);

// With `out_misfit`, what the optimizer keeps need not fit: what the program
// has none of is dropped, what the checkpoint has none of begins anew, weights
// of other masters are rounded or widened, and the first such thing is put
// there. Without it that is an error.
mpc_status_t load_checkpoint(mpc_session_t* session, const std::string& path,
                             std::string* out_misfit = nullptr);

// Whether a checkpoint is whole and well formed, which can be said without its
// program: what this passes, load_checkpoint may only find incompatible. Reads
// everything and keeps little. `out_bytes`: what its files have.
mpc_status_t verify_checkpoint(Files& files, const std::string& path,
                               uint64_t* out_bytes);

// The same by manifest and sizes alone.
mpc_status_t glance_at_checkpoint(Files& files, const std::string& path,
                                  uint64_t* out_bytes);

// "<path>.<kind>-<pid>-<host>-<random>": a name beside `path` that nobody
// else uses. `kind` is "tmp" (unfinished or to be removed) or "old" (whole,
// moved aside for a moment).
std::string name_beside(const std::string& path, const char* kind);

// Removes a checkpoint's files and its folder. Other files are left alone, and
// with them the folder; a link is not followed (-ENOTDIR). Returns what the
// first call that failed did.
int remove_checkpoint(Files& files, const std::string& path);

// Whether a folder holds nothing but (some of) a checkpoint's files.
bool is_checkpoint_folder(Files& files, const std::string& path);

mpc_status_t load_latest(mpc_session_t* session, const std::string& folder,
                         std::string* out_path, std::string* out_warning,
                         std::string* out_misfit = nullptr);
mpc_status_t prune(Files& files, const std::string& folder, size_t keep);

// Removes what saves and removals that were killed left in a folder. One that
// does not exist holds nothing.
mpc_status_t remove_leftovers(Files& files, const std::string& folder);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_CHECKPOINT_CHECKPOINT_H_
