#include "runtime/src/ranks/sharding.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace mpc::runtime {

namespace {

// Less is sent in one message from each rank to each other.
constexpr uint64_t kSmall = uint64_t{1} << 20;

}  // namespace

Sharding::Sharding(const mpc_communicator_t& communicator, Device* device,
                   const schema::Variant& variant, uint32_t apply,
                   const schema::State& gradients,
                   const std::vector<Bucket>& buckets, bool shares_gradients)
    : communicator_(communicator),
      device_(device),
      shards_(variant, apply, gradients, buckets, communicator.rank,
              communicator.size),
      shares_gradients_(shares_gradients) {
  for (const Piece& piece : shards_.kept())
    if (!piece.used.empty()) places_.push_back(used(piece));
}

Sharding::Ranges Sharding::whole(const Piece& piece) const {
  Ranges ranges = {piece.space, {}};
  for (uint64_t rank = 0; rank < communicator_.size; ++rank)
    ranges.of_ranks.push_back(shards_.ranges_of(piece, rank));
  return ranges;
}

Sharding::Ranges Sharding::used(const Piece& piece) const {
  Ranges ranges = whole(piece);
  for (std::vector<ByteRange>& of_rank : ranges.of_ranks) {
    std::vector<ByteRange> common;
    for (const ByteRange& own : of_rank)
      for (const ByteRange& place : piece.used) {
        const ByteRange both = {std::max(own.begin, place.begin),
                                std::min(own.end, place.end)};
        if (both.begin < both.end) common.push_back(both);
      }
    of_rank = std::move(common);
  }
  return ranges;
}

mpc_status_t Sharding::update(
    const std::function<mpc_status_t(const Part&)>& run) {
  for (const Shards::Step& step : shards_.steps()) {
    MPC_RETURN_IF_ERROR(gather(step.gathers));
    MPC_RETURN_IF_ERROR(run(step.part));
  }
  MPC_RETURN_IF_ERROR(gather(shards_.last_gathers()));
  if (!places_.empty()) MPC_RETURN_IF_ERROR(gather_ranges(places_));
  if (!are_scattered_) release_states();
  are_scattered_ = true;
  return nullptr;
}

mpc_status_t Sharding::gather(const std::vector<Piece>& pieces) {
  std::vector<Ranges> small;
  for (const Piece& piece : pieces)
    if (piece.end - piece.begin <= kSmall)
      small.push_back(whole(piece));
    else
      MPC_RETURN_IF_ERROR(gather_in_place(piece));
  return small.empty() ? nullptr : gather_ranges(small);
}

mpc_status_t Sharding::gather_in_place(const Piece& piece) {
  uint8_t* const memory = device_->host_memory(piece.space);
  for (size_t i = 0; i < shards_.owners().buckets(); ++i) {
    const std::vector<uint64_t>& bounds = shards_.owners().bounds(i);
    const uint64_t begin = piece.place(bounds.front());
    std::vector<uint64_t> offsets;
    for (uint64_t element : bounds)
      offsets.push_back(piece.place(element) - begin);
    MPC_RETURN_IF_ERROR(communicator_.all_gather(
        communicator_.user, memory + begin, offsets.data()));
  }
  return nullptr;
}

// Copies them to one place, so that there is one message to each other rank.
mpc_status_t Sharding::gather_ranges(const std::vector<Ranges>& list) {
  std::vector<uint64_t> offsets = {0};
  for (uint64_t rank = 0; rank < communicator_.size; ++rank) {
    offsets.push_back(offsets.back());
    for (const Ranges& ranges : list)
      for (const ByteRange& range : ranges.of_ranks[rank])
        offsets.back() += range.end - range.begin;
  }
  staging_.resize(offsets.back());
  const auto copy = [&](uint64_t rank, bool in) {
    uint8_t* staged = staging_.data() + offsets[rank];
    for (const Ranges& ranges : list)
      for (const ByteRange& range : ranges.of_ranks[rank]) {
        uint8_t* const here = device_->host_memory(ranges.space) + range.begin;
        const uint64_t bytes = range.end - range.begin;
        std::memcpy(in ? staged : here, in ? here : staged, bytes);
        staged += bytes;
      }
  };
  copy(communicator_.rank, true);
  MPC_RETURN_IF_ERROR(communicator_.all_gather(
      communicator_.user, staging_.data(), offsets.data()));
  for (uint64_t rank = 0; rank < communicator_.size; ++rank)
    if (rank != communicator_.rank) copy(rank, false);
  return nullptr;
}

bool Sharding::is_shared(uint64_t offset, uint64_t size) const {
  return std::any_of(
      shards_.kept().begin(), shards_.kept().end(), [&](const Piece& piece) {
        return piece.overlaps(schema::Space::State, offset, offset + size);
      });
}

mpc_status_t Sharding::read(uint64_t offset, void* data, uint64_t size) {
  MPC_RETURN_IF_ERROR(
      device_->download(schema::Space::State, offset, data, size));
  if (!is_scattered(offset, size)) return nullptr;
  std::vector<std::vector<ByteRange>> parts(communicator_.size);
  std::vector<uint64_t> offsets = {0};
  for (uint64_t rank = 0; rank < communicator_.size; ++rank) {
    offsets.push_back(offsets.back());
    for (const Piece& piece : shards_.kept())
      for (const ByteRange& range : shards_.ranges_of(piece, rank)) {
        const uint64_t begin = std::max(range.begin, offset);
        const uint64_t end = std::min(range.end, offset + size);
        if (begin >= end) continue;
        parts[rank].push_back({begin - offset, end - offset});
        offsets.back() += end - begin;
      }
  }
  staging_.resize(offsets.back());
  uint8_t* const read = static_cast<uint8_t*>(data);
  uint8_t* staged = staging_.data() + offsets[communicator_.rank];
  for (const ByteRange& part : parts[communicator_.rank]) {
    std::memcpy(staged, read + part.begin, part.end - part.begin);
    staged += part.end - part.begin;
  }
  MPC_RETURN_IF_ERROR(communicator_.all_gather(
      communicator_.user, staging_.data(), offsets.data()));
  for (uint64_t rank = 0; rank < communicator_.size; ++rank) {
    staged = staging_.data() + offsets[rank];
    for (const ByteRange& part : parts[rank]) {
      std::memcpy(read + part.begin, staged, part.end - part.begin);
      staged += part.end - part.begin;
    }
  }
  return nullptr;
}

uint64_t Sharding::shared_bytes() const {
  uint64_t bytes = 0;
  for (const Piece& piece : shards_.kept()) bytes += piece.end - piece.begin;
  return bytes;
}

uint64_t Sharding::own_bytes() const {
  uint64_t bytes = 0;
  for (const Piece& piece : shards_.kept())
    for (const ByteRange& range : shards_.ranges_of(piece, communicator_.rank))
      bytes += range.end - range.begin;
  for (const Ranges& common : places_)
    for (uint64_t rank = 0; rank < communicator_.size; ++rank)
      if (rank != communicator_.rank)
        for (const ByteRange& range : common.of_ranks[rank])
          bytes += range.end - range.begin;
  return bytes;
}

// Gives whole pages back to the system, which are zeros when they are used
// again. Large pages would come back as a whole.
void Sharding::release(uint8_t* begin, uint8_t* end) const {
  static const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first =
      (reinterpret_cast<uintptr_t>(begin) + page - 1) / page * page;
  const uintptr_t last = reinterpret_cast<uintptr_t>(end) / page * page;
  if (first >= last) return;
  void* const pages = reinterpret_cast<void*>(first);
  // Only hints: if they fail, the memory stays in use.
  (void)madvise(pages, last - first, MADV_NOHUGEPAGE);
  (void)madvise(pages, last - first, MADV_DONTNEED);
}

void Sharding::release_states() const {
  if (!device_->owns_pages()) return;
  uint8_t* const states = device_->host_memory(schema::Space::State);
  for (const Piece& piece : shards_.kept())
    for (uint64_t rank = 0; rank < communicator_.size; ++rank) {
      if (rank == communicator_.rank) continue;
      for (const ByteRange& range : shards_.ranges_of(piece, rank)) {
        uint64_t begin = range.begin;
        for (const ByteRange& place : piece.used) {
          release(states + begin,
                  states + std::clamp(place.begin, begin, range.end));
          begin = std::clamp(place.end, begin, range.end);
        }
        release(states + begin, states + range.end);
      }
    }
}

void Sharding::release_bucket(size_t i, uint8_t* gradients) {
  if (!shares_gradients_ || !device_->owns_pages()) return;
  const Owners& owners = shards_.owners();
  const std::vector<uint64_t>& bounds = owners.bounds(i);
  const uint64_t each = owners.element_bytes();
  for (uint64_t rank = 0; rank < communicator_.size; ++rank)
    if (rank != communicator_.rank)
      release(gradients + bounds[rank] * each,
              gradients + bounds[rank + 1] * each);
}

}  // namespace mpc::runtime
