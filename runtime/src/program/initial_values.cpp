// The initial values of the states of a program.

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "runtime/src/base/number.h"
#include "runtime/src/program/program.h"

namespace mpc::runtime {
namespace {

// Fewer bytes stay in memory.
constexpr uint64_t kLeastRead = 1 << 20;

// Calls visit(index, state) for each state with an initial value.
template <typename Visit>
void for_each_initial(const schema::Program& root, Visit visit) {
  if (!root.states()) return;
  for (uint32_t i = 0; i < root.states()->size(); ++i)
    if (const schema::State* state = root.states()->Get(i);
        state->initial_size() > 0)
      visit(i, *state);
}

// Frees the whole pages in a block of private memory, whose contents are lost.
void free_pages(const uint8_t* data, uint64_t size) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page;
  const auto end = (reinterpret_cast<uintptr_t>(data) + size) / page;
  if (begin < end)
    (void)madvise(reinterpret_cast<void*>(begin * page), (end - begin) * page,
                  MADV_DONTNEED);
}

}  // namespace

void InitialValues::keep(const schema::Program& root, const Memory& file) {
  values_ = find_segment(root, file.data(), schema::SegmentKind::States);
  offset_ =
      values_.data ? static_cast<uint64_t>(values_.data - file.data()) : 0;
}

void InitialValues::read_from(std::unique_ptr<OpenFile> source,
                              const schema::Program& root) {
  if (values_.size < kLeastRead) return;
  checksums_.resize(root.states() ? root.states()->size() : 0);
  for_each_initial(root, [&](uint32_t i, const schema::State& state) {
    checksums_[i] =
        checksum(values_.data + state.initial_offset(), state.initial_size());
  });
  source_ = std::move(source);
  free_pages(values_.data, values_.size);
}

mpc_status_t InitialValues::copy(const schema::Program& root,
                                 uint8_t* states) const {
  mpc_status_t status = nullptr;
  for_each_initial(root, [&](uint32_t i, const schema::State& state) {
    if (status) return;
    uint8_t* to = states + state.offset();
    const uint64_t size = state.initial_size();
    if (!source_) {
      std::memcpy(to, values_.data + state.initial_offset(), size);
      return;
    }
    status = source_->read_at(to, size, offset_ + state.initial_offset());
    if (!status && checksum(to, size) != checksums_[i])
      status = mpc_status_make(MPC_DAMAGED,
                               "'%s' has changed since it was loaded; replace "
                               "packages by renaming, or load it again",
                               source_->path().c_str());
  });
  return status;
}

}  // namespace mpc::runtime
