// What a loaded program is inside the runtime.

#ifndef MPC_RUNTIME_SRC_PROGRAM_PROGRAM_H_
#define MPC_RUNTIME_SRC_PROGRAM_PROGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mpc/program.h"
#include "runtime/src/base/memory.h"
#include "runtime/src/program/program_generated.h"

namespace mpc::runtime {

namespace schema = ::mpc::program;

// The package format this runtime reads.
inline constexpr uint32_t kPackageFormat = 1;
// What operands of generated kernels are aligned to at least on CUDA.
inline constexpr uint64_t kVectorAlignment = 16;

// A piece of the file.
struct Span {
  const uint8_t* data = nullptr;
  uint64_t size = 0;
};

// A tensor of the states under its public name: a whole state, or a slot of a
// packed one. `offset` and `bytes` count in the state memory.
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

// Whether the tables are worth no more than the bytes of their file. Tables
// may refer to the same strings and vectors, and a small file then cost as much
// as a large one; our writer shares none. After the verifier of FlatBuffers,
// before anything else.
bool has_no_shared_parts(const schema::Program& root, uint64_t size);

// Checks everything behind the checksums: what each number in `root` points
// at, and that this CPU can run the code. `size` is that of the file without
// its seal. MPC_INCOMPATIBLE only if nothing else is wrong.
mpc_status_t verify_program(const schema::Program& root, const uint8_t* file,
                            uint64_t size);

// Lists the tensors of all states. Returns MPC_DAMAGED if two share a name.
mpc_status_t list_state_tensors(const schema::Program& root,
                                std::vector<StateTensor>* out_tensors);

// MPC_INCOMPATIBLE if this CPU lacks a feature (LLVM's name) that the code of
// `variant` needs.
mpc_status_t check_cpu_features(const schema::Variant& variant);

// Whether the loss scale is a number that the compiler was given: then it is
// that of the program, whatever a checkpoint has.
bool has_fixed_loss_scale(const mpc_program_t& program);

// What the loss scale never shrinks below; 1 if the program does not say.
float loss_scale_floor(const mpc_program_t& program);

// The segment of that kind and target; an empty span if there is none.
Span find_segment(const schema::Program& root, const uint8_t* file,
                  schema::SegmentKind kind, std::string_view target = "");

// The variant for that kind of device ("cpu"), null if there is none. All of
// them have the same entry points in the same order: the first one's stand for
// them where only names and types matter.
const schema::Variant* find_variant(const schema::Program& root,
                                    std::string_view device);
inline const schema::Variant& first_variant(const schema::Program& root) {
  return *root.variants()->Get(0);
}

// The entry point of that name, -1 if there is none.
int find_entry(const schema::Variant& variant, const char* name);

// The binding of that name, -1 if there is none. `bindings` may be null.
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

// Elements and bytes of a verified buffer.
uint64_t count_of(const Shape* shape);
uint64_t bytes_of(const schema::Buffer& buffer);

// "f32[64,512]".
std::string type_text(mpc_dtype_t dtype, const int64_t* shape, size_t rank);

}  // namespace mpc::runtime

struct mpc_program_s {
  mpc::runtime::Memory file;
  const mpc::runtime::schema::Program* root = nullptr;  // In `file`.
  std::vector<mpc::runtime::StateTensor> tensors;
  std::vector<uint32_t> by_name;  // Indices of `tensors`, sorted by name.
  struct Report {
    std::string device;  // Empty: all of them.
    std::string text;    // JSON.
  };
  std::vector<Report> reports;

  // Index into `tensors`, -1 if there is none.
  int64_t find_tensor(const char* name) const;
};

#endif  // MPC_RUNTIME_SRC_PROGRAM_PROGRAM_H_
