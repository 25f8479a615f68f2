// Checkpoints: a folder of four files.
//
//   model.safetensors      parameters and statistics, by their ONNX names
//   optimizer.safetensors  states of the optimizer ("adam.first_moment/w")
//   state.json             control states bit for bit, progress, properties
//   MANIFEST.json          size and XXH3 of the others; written last
//
// "pending/NAME" is NAME as the micro-batches since the last update left it. If
// an older checkpoint lacks it, it starts from NAME.
//
// Constants and working copies are not stored: constants are in the program,
// and working copies are rounded again. A checkpoint fits a program if it has
// exactly the tensors that the program would store, with the same names, types
// and shapes. The precision of the program does not matter: masters are f32 in
// every precision, unless the program was compiled with bf16 masters (then
// "compensation/w" of optimizer.safetensors may hold their rounding errors).
// Loss scale and streak keep their initial values if the checkpoint has none,
// and are dropped if the program has none.

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

// The unique text for these records.
std::string manifest_text(const std::vector<FileRecord>& records);

// Parses a manifest. MPC_DAMAGED if it is not exactly what manifest_text writes
// for the files of a checkpoint; MPC_INCOMPATIBLE if its format is newer.
mpc_status_t parse_manifest(const std::string& path, const char* data,
                            size_t size, std::vector<FileRecord>* out_records);

// Reads MANIFEST.json of a checkpoint.
mpc_status_t read_manifest(Files& files, const std::string& folder,
                           std::vector<FileRecord>* out_records);

// MPC_DAMAGED if the size or checksum of a file differs from its record.
mpc_status_t check_size(const std::string& path, uint64_t size,
                        const FileRecord& record);
mpc_status_t check_checksum(const std::string& path, uint64_t sum,
                            const FileRecord& record);

// Returns `status`, or, if the file could not be read because it does not
// exist, that the checkpoint is not complete (MPC_DAMAGED).
mpc_status_t name_missing(Files& files, const std::string& folder,
                          const std::string& name, mpc_status_t status);

// The maximum size of files that are read into memory as a whole and parsed.
inline constexpr uint64_t kMaxState = uint64_t{1} << 26;
uint64_t max_bytes_of(const std::string& name);

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

// Lays out `tensors` one after the other (sets `offset`) and returns the bytes
// before the first: the length of the header and the header.
std::string safetensors_header(std::vector<StoredTensor>* tensors);

// How many bytes at the beginning of a file of `size` bytes parse_safetensors
// reads, according to the first 8 of them; 0 if they are not those of a valid
// file.
uint64_t safetensors_header_size(const uint8_t* data, uint64_t size);

// Parses the header of a file and checks it against the file's size: every byte
// must belong to exactly one tensor. Tensors are sorted by name. Memory use is
// proportional to the size of the header, whatever its contents.
mpc_status_t parse_safetensors(const std::string& path, const uint8_t* data,
                               uint64_t size,
                               std::vector<StoredTensor>* out_tensors);

//===----------------------------------------------------------------------===//
// state.json
//===----------------------------------------------------------------------===//

// XXH3 of the names, types and shapes of the tensors in the program's
// checkpoints (without the loss scale) and of the names of its entry points.
// Programs with equal hashes can exchange checkpoints.
uint64_t program_hash(const mpc_program_t& program);

// MPC_INVALID_ARGUMENT if there are more properties than parse_state accepts.
mpc_status_t state_text(const mpc_session_t& session, std::string* out_text);

// The contents of state.json, independent of the program.
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
// in `missing` the pending states that an older checkpoint lacks.
// `out_mismatch` is that of load_checkpoint.
mpc_status_t apply_state(const std::string& path, const StateFile& state,
                         const mpc_program_t& program, uint8_t* states,
                         std::vector<const StateTensor*>* missing,
                         std::string* out_mismatch);

// The state whose pending value `tensor` is; null if `tensor` is not a pending
// state.
const StateTensor* pending_of(const mpc_program_t& program,
                              const StateTensor& tensor);

// The file of a checkpoint that stores a tensor.
enum class StoredIn { kNowhere, kModel, kOptimizer, kState };
StoredIn stored_in(const StateTensor& tensor);

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

mpc_status_t save_checkpoint(mpc_session_t* session, const std::string& path);

// With `out_mismatch`, optimizer states need not fit: those that the program
// does not have are dropped, those that the checkpoint does not have keep their
// initial values, weights of another master type are rounded or widened, and
// `*out_mismatch` describes the first such mismatch. Without it, a mismatch is
// an error.
mpc_status_t load_checkpoint(mpc_session_t* session, const std::string& path,
                             std::string* out_mismatch = nullptr);

// Checks that a checkpoint is complete and well formed, without its program: if
// this passes, load_checkpoint can still find it incompatible but not damaged.
// Reads everything in pieces. `out_bytes` is the total size of the files in the
// manifest.
mpc_status_t verify_checkpoint(Files& files, const std::string& path,
                               uint64_t* out_bytes);

// The same, but checks only the manifest and the sizes.
mpc_status_t check_manifest_and_sizes(Files& files, const std::string& path,
                                      uint64_t* out_bytes);

// "<path>.<kind>-<pid>-<host>-<random>": a unique name in the same folder as
// `path`. `kind` is "tmp" (unfinished or to be removed) or "old" (complete,
// moved aside for a moment).
std::string unique_sibling_name(const std::string& path, const char* kind);

// Removes a checkpoint's files and its folder. If there are other files, they
// and the folder are left alone. A link is not followed (-ENOTDIR). Returns the
// error of the first call that failed.
int remove_checkpoint(Files& files, const std::string& path);

// Whether a folder holds nothing but (some of) a checkpoint's files.
bool is_checkpoint_folder(Files& files, const std::string& path);

mpc_status_t load_latest(mpc_session_t* session, const std::string& folder,
                         std::string* out_path, std::string* out_warning,
                         std::string* out_mismatch = nullptr);
mpc_status_t prune(Files& files, const std::string& folder, size_t keep);

// Removes the remains of interrupted saves and removals from a folder. A folder
// that does not exist is not an error.
mpc_status_t remove_leftovers(Files& files, const std::string& folder);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_CHECKPOINT_CHECKPOINT_H_
