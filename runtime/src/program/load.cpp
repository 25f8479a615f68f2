// Reads a package and validates it completely before anything uses it.

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/src/base/files.h"
#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/program/program.h"

using namespace mpc::runtime;

namespace {

constexpr char kSealMark[] = "MPCPSEAL";
constexpr size_t kSealSize = 16;

// Checks the seal, whose checksum covers every bit of the file.
mpc_status_t check_seal(const uint8_t* file, size_t size) {
  if (size < 8 + kSealSize || !schema::ProgramBufferHasIdentifier(file))
    return mpc_status_make(MPC_DAMAGED, "not an mpc package");
  const uint8_t* seal = file + size - kSealSize;
  if (std::memcmp(seal, kSealMark, 8) != 0)
    return mpc_status_make(
        MPC_DAMAGED,
        "the package is truncated or damaged; compile the model again");
  uint64_t expected;
  std::memcpy(&expected, seal + 8, 8);
  if (checksum(file, size - kSealSize) != expected)
    return mpc_status_make(MPC_DAMAGED,
                           "the package is damaged: its checksum is wrong");
  return nullptr;
}

// Limits the number of variants, one for each kind of device. Each variant has
// a vector of strings, and the verifier limits the number of tables only.
bool has_few_variants(const uint8_t* file, uint64_t size) {
  constexpr uint32_t kMaxVariants = 64;
  using Variants = flatbuffers::Vector<flatbuffers::Offset<schema::Variant>>;
  flatbuffers::Verifier verifier(file, size);
  flatbuffers::uoffset_t start = verifier.VerifyOffset(0);
  if (start == 0) return false;
  auto* root = reinterpret_cast<const flatbuffers::Table*>(file + start);
  if (!root->VerifyTableStart(verifier) ||
      !root->VerifyOffset(verifier, schema::Program::VT_VARIANTS))
    return false;
  auto* variants =
      root->GetPointer<const Variants*>(schema::Program::VT_VARIANTS);
  return verifier.VerifyVector(variants) &&
         (!variants || variants->size() <= kMaxVariants);
}

// Runs the FlatBuffers verifier over the first `size` bytes.
bool verify_tables(const uint8_t* file, uint64_t size) {
  constexpr uint64_t kMax = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  size = std::min(size, kMax);
  flatbuffers::Verifier::Options options;
  options.max_depth = 16;
  // A table takes at least 4 bytes, so valid files never reach the limit.
  options.max_tables = static_cast<flatbuffers::uoffset_t>(size / 4);
  flatbuffers::Verifier verifier(file, size, options);
  return has_few_variants(file, size) && schema::VerifyProgramBuffer(verifier);
}

mpc_status_t verify_file(const uint8_t* file, uint64_t size) {
  if (!verify_tables(file, size))
    return mpc_status_make(MPC_DAMAGED, "the package's tables are damaged");
  if (!has_no_shared_parts(*schema::GetProgram(file), size))
    return mpc_status_make(
        MPC_DAMAGED, "the package's tables are damaged: they share parts");
  const schema::Program& root = *schema::GetProgram(file);
  if (root.format() > kPackageFormat)
    return mpc_status_make(
        MPC_INCOMPATIBLE,
        "package format %u is newer than the %u that this runtime reads",
        root.format(), kPackageFormat);
  if (root.format() == 0)
    return mpc_status_make(MPC_DAMAGED, "package format 0 does not exist");

  // Verify the part before the first segment again, so that no table extends
  // into a segment.
  uint64_t first = size;
  if (root.segments())
    for (const schema::Segment* segment : *root.segments())
      first = std::min(first, segment->offset());
  if (first < size && !verify_tables(file, first))
    return mpc_status_make(MPC_DAMAGED,
                           "the package's tables reach into its segments");
  return verify_program(root, file, size);
}

mpc_status_t make_program(Memory file, mpc_program_t** out_program) {
  MPC_RETURN_IF_ERROR(check_seal(file.data(), file.size()));
  uint64_t size = file.size() - kSealSize;
  MPC_RETURN_IF_ERROR(verify_file(file.data(), size));

  auto program = std::make_unique<mpc_program_s>();
  program->root = schema::GetProgram(file.data());
  MPC_RETURN_IF_ERROR(list_state_tensors(*program->root, &program->tensors));
  for (uint32_t i = 0; i < program->tensors.size(); ++i)
    program->by_name.push_back(i);
  const auto& tensors = program->tensors;
  std::sort(program->by_name.begin(), program->by_name.end(),
            [&](uint32_t a, uint32_t b) {
              return tensors[a].name < tensors[b].name;
            });
  for (size_t i = 1; i < program->by_name.size(); ++i) {
    const std::string& name = tensors[program->by_name[i]].name;
    if (name == tensors[program->by_name[i - 1]].name)
      return mpc_status_make(MPC_DAMAGED, "two states have the name '%s'",
                             name.c_str());
  }
  if (program->root->segments())
    for (const schema::Segment* segment : *program->root->segments())
      if (segment->kind() == schema::SegmentKind::Report)
        program->reports.push_back(
            {segment->target() ? segment->target()->str() : "",
             std::string(
                 reinterpret_cast<const char*>(file.data()) + segment->offset(),
                 segment->size())});
  program->initial.keep(*program->root, file);
  program->file = std::move(file);
  *out_program = program.release();
  return nullptr;
}

mpc_status_t load_file(const char* path, mpc_program_t** out_program) {
  auto source = std::make_unique<OpenFile>();
  MPC_RETURN_IF_ERROR(source->open(system_files(), path));
  Memory file;
  MPC_RETURN_IF_ERROR(file.allocate(default_allocator(), source->size(), path));
  MPC_RETURN_IF_ERROR(source->read(file.data(), file.size()));
  mpc_status_t status = make_program(std::move(file), out_program);
  if (!status) {
    mpc_program_t* program = *out_program;
    program->initial.read_from(std::move(source), *program->root);
    return nullptr;
  }
  mpc_status_t named = mpc_status_make(mpc_status_code(status), "%s: %s", path,
                                       mpc_status_message(status));
  mpc_status_free(status);
  return named;
}

}  // namespace

mpc_status_t mpc_program_load_file(const char* path,
                                   mpc_program_t** out_program) {
  if (!path || !out_program)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&] { return load_file(path, out_program); });
}

mpc_status_t mpc_program_load_memory(const void* data, size_t size,
                                     mpc_program_t** out_program) {
  if (!data || !out_program)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&] {
    Memory file;
    MPC_RETURN_IF_ERROR(
        file.allocate(default_allocator(), size, "the package"));
    std::memcpy(file.data(), data, size);
    return make_program(std::move(file), out_program);
  });
}

void mpc_program_destroy(mpc_program_t* program) { delete program; }
