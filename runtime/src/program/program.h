// The internal representation of a loaded program.

#ifndef MPC_RUNTIME_SRC_PROGRAM_PROGRAM_H_
#define MPC_RUNTIME_SRC_PROGRAM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mpc/program.h"
#include "runtime/src/base/files.h"
#include "runtime/src/base/memory.h"
#include "runtime/src/program/program_generated.h"

namespace mpc::runtime {

namespace schema = ::mpc::program;

// The package format this runtime reads.
inline constexpr uint32_t kPackageFormat = 1;
// The minimum alignment of operands of generated kernels on CUDA.
inline constexpr uint64_t kVectorAlignment = 16;

// A range of bytes of the package.
struct Span {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};

// A state tensor under its public name: a whole state, or a slot of a packed
// state. `offset` and `bytes` refer to the state memory.
struct StateTensor {
  std::string name;
  uint32_t state;
  schema::StateKind kind;
  schema::StateRole role;
  mpc_dtype_t dtype;
  uint32_t rank;
  const int64_t* shape;
  uint64_t offset;
  uint64_t count;
  uint64_t bytes;
};

// Whether visiting all tables reads no more bytes than the file has. A hostile
// file may refer to the same strings and vectors many times, and so cost as
// much as a large one; our writer shares none. Call this after the FlatBuffers
// verifier and before anything else.
bool has_no_shared_parts(const schema::Program& root, uint64_t size);

// Checks everything that checksums do not: what each number in `root` points
// at, and that this CPU can run the code. `size` is the size of the file
// without its seal. Returns MPC_INCOMPATIBLE only if nothing else is wrong.
mpc_status_t verify_program(const schema::Program& root, const uint8_t* file,
                            uint64_t size);

// Lists the tensors of all states. Returns MPC_DAMAGED if two share a name.
mpc_status_t list_state_tensors(const schema::Program& root,
                                std::vector<StateTensor>* out_tensors);

// MPC_INCOMPATIBLE if this CPU lacks a feature (LLVM's name) that the code of
// `variant` needs.
mpc_status_t check_cpu_features(const schema::Variant& variant);

// Whether the loss scale is a constant given to the compiler. The program's
// scale is then used even if a checkpoint has another.
bool has_fixed_loss_scale(const mpc_program_t& program);

// The minimum of the loss scale; 1 if the program does not say.
float loss_scale_floor(const mpc_program_t& program);

// The segment of this kind and target; an empty span if there is none.
Span find_segment(const schema::Program& root, const uint8_t* file,
                  schema::SegmentKind kind, std::string_view target = "");

// The variant for this kind of device ("cpu"), null if there is none. All
// variants have the same entry points in the same order, so code that needs
// only names and types may use first_variant().
const schema::Variant* find_variant(const schema::Program& root,
                                    std::string_view device);
inline const schema::Variant& first_variant(const schema::Program& root) {
  return *root.variants()->Get(0);
}

// The entry point of this name, -1 if there is none.
int find_entry(const schema::Variant& variant, const char* name);

// The binding of this name, -1 if there is none. `bindings` may be null.
using Bindings = flatbuffers::Vector<flatbuffers::Offset<schema::Binding>>;
int find_binding(const Bindings* bindings, const char* name);

// Extents of a shape that may be absent (rank 0).
using Shape = flatbuffers::Vector<int64_t>;
inline uint32_t rank_of(const Shape* shape) {
  return shape ? shape->size() : 0;
}
const int64_t* extents_of(const Shape* shape);

inline mpc_dtype_t dtype_of(schema::DType dtype) {
  return static_cast<mpc_dtype_t>(dtype);
}

// The numbers of elements and bytes of a verified buffer or state.
uint64_t count_of(const Shape* shape);
uint64_t bytes_of(const schema::Buffer& buffer);
uint64_t bytes_of(const schema::State& state);

// Whether an instruction computes means with other ranks.
bool is_mean_over_ranks(const schema::Instruction& instruction);

// "f32[64,512]".
std::string type_text(mpc_dtype_t dtype, const int64_t* shape, size_t rank);

// The initial values of the states. Large ones are read from the file for each
// session, so that a program takes no memory for them.
class InitialValues {
 public:
  // Keeps the values of a checked package in the memory of `file`.
  void keep(const schema::Program& root, const Memory& file);
  // Reads them from `source`, from which `file` has been read, and returns
  // their memory to the system, unless they are few.
  void read_from(std::unique_ptr<OpenFile> source, const schema::Program& root);
  // Writes them to the states. MPC_DAMAGED if the file has changed.
  mpc_status_t copy(const schema::Program& root, uint8_t* states) const;

 private:
  Span values_;
  std::unique_ptr<OpenFile> source_;  // Null: they are in memory.
  uint64_t offset_ = 0;               // In the file.
  std::vector<uint64_t> checksums_;   // One for each state.
};

}  // namespace mpc::runtime

struct mpc_program_s {
  mpc::runtime::Memory file;
  const mpc::runtime::schema::Program* root = nullptr;  // In `file`.
  mpc::runtime::InitialValues initial;
  std::vector<mpc::runtime::StateTensor> tensors;
  std::vector<uint32_t> by_name;  // Indices of `tensors`, sorted by name.
  struct Report {
    std::string device;  // Empty: the report is for all devices.
    std::string text;    // JSON.
  };
  std::vector<Report> reports;

  // Index into `tensors`, -1 if there is none.
  int64_t find_tensor(const char* name) const;
};

#endif  // MPC_RUNTIME_SRC_PROGRAM_PROGRAM_H_
