#include "runtime/src/ranks/ranks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/src/base/guard.h"
#include "runtime/src/program/roles.h"

namespace mpc::runtime {

namespace {

using schema::StateRole;

uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Equal ranges in whole cache lines; the last ones may be shorter or empty.
std::vector<uint64_t> ranges_of(uint64_t bytes, uint32_t size) {
  const uint64_t each = round_up((bytes + size - 1) / size, kAlignment);
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= size; ++i)
    offsets.push_back(std::min(bytes, i * each));
  return offsets;
}

// Others are equal on all ranks.
bool can_combine(const schema::State& state) {
  return state.dtype() == schema::DType::F32 ||
         state.dtype() == schema::DType::F64 ||
         state.dtype() == schema::DType::I64;
}

// NaN wins, so that no rank misses it.
template <typename T>
T greater(T a, T b) {
  return a > b || a != a ? a : b;
}

// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014).
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

mpc_status_t Ranks::join(const mpc_communicator_t* communicator,
                         const mpc_program_t& program,
                         std::unique_ptr<Ranks>* out_ranks) {
  if (!communicator) return nullptr;
  mpc_communicator_t own;
  MPC_RETURN_IF_ERROR(copy_in(communicator, "the communicator", &own));
  if (!own.reduce_scatter || !own.all_gather || !own.abort)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the communicator lacks one of its functions");
  if (own.rank >= own.size)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the communicator says that this is rank %u of %u",
                           own.rank, own.size);
  if (own.size == 1) return nullptr;
  if (!mpc_program_option(&program, "data-parallel"))
    return mpc_status_make(
        MPC_INVALID_ARGUMENT,
        "the program was compiled for one process, but this is rank %u of %u; "
        "compile the model with option 'data-parallel'",
        own.rank, own.size);
  out_ranks->reset(new Ranks(own, program));
  Ranks& ranks = **out_ranks;
  return ranks.shares_.allocate(default_allocator(),
                                ranks.share_size_ * own.size,
                                "what the ranks combine");
}

Ranks::Ranks(const mpc_communicator_t& communicator,
             const mpc_program_t& program)
    : communicator_(communicator), program_(program) {
  share_size_ = kAlignment;  // The number of the update.
  for (const schema::State* state : *program.root->states()) {
    How how = How::kSum;
    switch (role_of(*state)) {
      case StateRole::GradientSum:
      case StateRole::RankGradients:
        gradients_ = state;
        continue;
      case StateRole::LossSum:
      case StateRole::LossDivisor:
        break;
      case StateRole::Pending:
        how = How::kMean;
        break;
      case StateRole::Fp8Amax:
      case StateRole::PendingControl:
        how = How::kMax;
        break;
      default:
        continue;
    }
    if (!can_combine(*state)) continue;
    const uint64_t bytes = bytes_of(*state);
    small_.push_back({state, how, share_size_, bytes});
    share_size_ = round_up(share_size_ + bytes, kAlignment);
  }
  for (uint64_t i = 0; i <= size(); ++i)
    share_offsets_.push_back(i * share_size_);
}

void Ranks::set_entries(const schema::Variant& variant,
                        const std::vector<uint32_t>& entries, uint32_t own) {
  for (uint32_t entry : entries)
    for (const schema::Instruction* instruction :
         *variant.entries()->Get(entry)->instructions())
      computes_means_ |= is_mean_over_ranks(*instruction);
  if (gradients_)
    buckets_ = make_buckets(variant, entries, own, gradients_->offset(),
                            bytes_of(*gradients_));
}

mpc_status_t Ranks::join_devices(Device* device, std::string* out_note) {
  if (!gradients_ || device->host_memory(schema::Space::State)) return nullptr;
  std::string why;
  MPC_RETURN_IF_ERROR(device->join_ranks(communicator_, &device_ranks_, &why));
  if (!device_ranks_) *out_note = "gradients go through host memory: " + why;
  return nullptr;
}

mpc_status_t Ranks::share_update(Device* device, const schema::Variant& variant,
                                 uint32_t apply, bool shares_gradients) {
  if (!device->host_memory(schema::Space::State))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "ranks share states only on the cpu, but this "
                           "session runs on '%s'",
                           device->name().c_str());
  if (gradients_)
    sharding_ =
        std::make_unique<Sharding>(communicator_, device, variant, apply,
                                   *gradients_, buckets_, shares_gradients);
  if (sharding_ && sharding_->shared_bytes() > 0) return nullptr;
  const char* optimizer = mpc_program_option(&program_, "optimizer");
  return mpc_status_make(
      MPC_INVALID_ARGUMENT,
      "there is nothing that ranks could share: the optimizer '%s' of this "
      "program keeps no states by weight, the model is small, or it was "
      "compiled by a version of mpc that cannot share them",
      optimizer ? optimizer : "unknown");
}

mpc_status_t Ranks::round_gradients(Device* device) {
  const char* const what = "gradients can be exchanged in bf16 only";
  if (!gradients_)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "%s if ranks add up any, which this program does "
                           "not",
                           what);
  if (!device->host_memory(schema::Space::State))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "%s on the cpu, but this session runs on '%s'", what,
                           device->name().c_str());
  if (gradients_->dtype() != schema::DType::F32)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "%s if they are f32, but those of this program are "
                           "%s",
                           what, mpc_dtype_name(dtype_of(gradients_->dtype())));
  if (!communicator_.all_to_all)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "%s by a communicator that has all_to_all", what);
  uint64_t longest = 0;
  for (const Bucket& bucket : buckets_)
    longest = std::max(longest, bucket.end - bucket.begin);
  owners_ = std::make_unique<Owners>(buckets_, *gradients_, size());
  return RoundedSums::create(communicator_, count_of(gradients_->shape()),
                             longest / sizeof(float), &rounded_sums_);
}

// Gradients are those of the scaled loss, and so is what rounding has lost.
void Ranks::begin_sums(Device* device) {
  if (!rounded_sums_ || !program_.root->loss_scaling()) return;
  for (const schema::State* state : *program_.root->states()) {
    if (role_of(*state) != StateRole::LossScale) continue;
    float scale;
    std::memcpy(&scale,
                device->host_memory(schema::Space::State) + state->offset(),
                sizeof(scale));
    if (std::exchange(loss_scale_, scale) != scale) rounded_sums_->clear();
  }
}

uint8_t* Ranks::share(uint32_t rank) const {
  return shares_.data() + share_offsets_[rank];
}

mpc_status_t Ranks::agree(int64_t entry) const {
  std::vector<int64_t> entries(size());
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= size(); ++i) offsets.push_back(i * sizeof(int64_t));
  entries[rank()] = entry;
  MPC_RETURN_IF_ERROR(communicator_.all_gather(communicator_.user,
                                               entries.data(), offsets.data()));
  for (uint32_t other = 0; other < size(); ++other)
    if (entries[other] != entries[0])
      return mpc_status_make(
          MPC_INVALID_ARGUMENT,
          "synchronized batch norms need a batch of the same size on every "
          "rank, but rank %u has %s and rank 0 %s",
          other, entries[other] < 0 ? "none" : "one",
          entries[0] < 0       ? "none"
          : entries[other] < 0 ? "one"
                               : "one of another size");
  return nullptr;
}

namespace {

// The sums are in f64 and in the order of the ranks, the same on all.
template <typename T>
void average(const std::vector<uint8_t>& all, uint32_t size, uint64_t count,
             T* means) {
  const T* const numbers = reinterpret_cast<const T*>(all.data());
  for (uint64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (uint32_t rank = 0; rank < size; ++rank)
      sum += static_cast<double>(numbers[rank * count + i]);
    means[i] = static_cast<T>(sum / size);
  }
}

}  // namespace

mpc_status_t Ranks::mean(void* data, uint64_t count, mpc_dtype_t dtype) {
  const uint64_t bytes = count * mpc_dtype_size(dtype);
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= size(); ++i) offsets.push_back(i * bytes);
  means_.resize(offsets.back());
  std::memcpy(means_.data() + offsets[rank()], data, bytes);
  MPC_RETURN_IF_ERROR(communicator_.all_gather(communicator_.user,
                                               means_.data(), offsets.data()));
  if (dtype == MPC_DTYPE_F64)
    average(means_, size(), count, static_cast<double*>(data));
  else
    average(means_, size(), count, static_cast<float*>(data));
  return nullptr;
}

mpc_status_t Ranks::write_seed(Device* device) const {
  for (const schema::State* state : *program_.root->states()) {
    if (role_of(*state) != StateRole::RankSeed) continue;
    const uint64_t seed = mix(rank() * 0x9e3779b97f4a7c15u);  // 0 for rank 0.
    return device->upload(schema::Space::State, state->offset(), &seed,
                          sizeof(seed));
  }
  return nullptr;
}

RunListener* Ranks::begin_overlap(Device* device, uint32_t entry) {
  uint8_t* const states = device->host_memory(schema::Space::State);
  // Messages of both threads would need an order.
  if (!states || !gradients_ || !communicator_.any_thread || computes_means_)
    return nullptr;
  if (!overlap_)
    overlap_ = std::make_unique<Overlap>(
        buckets_,
        [this, gradients = states + gradients_->offset()](size_t bucket) {
          return guard([&] { return sum_bucket(gradients, bucket); });
        });
  begin_sums(device);
  return overlap_->begin(entry) ? overlap_.get() : nullptr;
}

mpc_status_t Ranks::end_overlap(bool failed) {
  return overlap_->finish(failed);
}

mpc_status_t Ranks::combine(Device* device, uint64_t update, bool has_batches,
                            bool are_summed) {
  if (device_ranks_) {
    // First the host: there a rank that is missing is noticed for certain.
    MPC_RETURN_IF_ERROR(combine_small(device, update));
    return sum_on_devices(device, has_batches);
  }
  if (!are_summed) MPC_RETURN_IF_ERROR(sum_gradients(device, has_batches));
  return combine_small(device, update);
}

mpc_status_t Ranks::sum_on_devices(Device* device, bool has_batches) {
  if (!has_batches) {
    const std::vector<uint8_t> zeros(bytes_of(*gradients_));
    MPC_RETURN_IF_ERROR(device->upload(schema::Space::State,
                                       gradients_->offset(), zeros.data(),
                                       zeros.size()));
  }
  return device_ranks_->sum(gradients_->offset(), count_of(gradients_->shape()),
                            dtype_of(gradients_->dtype()));
}

mpc_status_t Ranks::combine_small(Device* device, uint64_t update) {
  std::memcpy(share(rank()), &update, sizeof(update));
  for (const Small& small : small_)
    MPC_RETURN_IF_ERROR(
        device->download(schema::Space::State, small.state->offset(),
                         share(rank()) + small.offset, small.bytes));
  MPC_RETURN_IF_ERROR(communicator_.all_gather(
      communicator_.user, shares_.data(), share_offsets_.data()));
  for (uint32_t other = 0; other < size(); ++other) {
    uint64_t theirs;
    std::memcpy(&theirs, share(other), sizeof(theirs));
    if (theirs != update)
      return mpc_status_make(
          MPC_RANK_LOST,
          "rank %u combines update %llu, but rank %u update %llu", other,
          static_cast<unsigned long long>(theirs), rank(),
          static_cast<unsigned long long>(update));
  }
  for (const Small& small : small_) {
    combine_share(small);
    MPC_RETURN_IF_ERROR(device->upload(schema::Space::State,
                                       small.state->offset(),
                                       share(0) + small.offset, small.bytes));
  }
  return nullptr;
}

// Combines one state of all ranks, in their order, into the share of rank 0.
void Ranks::combine_share(const Small& small) {
  if (small.state->dtype() == schema::DType::F64)
    combine_elements<double>(small);
  else if (small.state->dtype() == schema::DType::F32)
    combine_elements<float>(small);
  else  // A counter of batches; this rank may have had fewer.
    combine_elements<int64_t>(small);
}

template <typename T>
void Ranks::combine_elements(const Small& small) {
  T* const into = reinterpret_cast<T*>(share(0) + small.offset);
  const uint64_t count = small.bytes / sizeof(T);
  for (uint32_t other = 1; other < size(); ++other) {
    const T* from = reinterpret_cast<const T*>(share(other) + small.offset);
    for (uint64_t i = 0; i < count; ++i)
      into[i] = small.how == How::kMax ? greater(into[i], from[i])
                                       : into[i] + from[i];
  }
  if (small.how == How::kMean)
    for (uint64_t i = 0; i < count; ++i) into[i] /= static_cast<T>(size());
}

mpc_status_t Ranks::sum_gradients(Device* device, bool has_batches) {
  if (!gradients_) return nullptr;
  const uint64_t bytes = bytes_of(*gradients_);
  uint8_t* data = device->host_memory(schema::Space::State);
  if (data) {
    data += gradients_->offset();
  } else {
    if (!device_copy_.data())
      MPC_RETURN_IF_ERROR(device_copy_.allocate(default_allocator(), bytes,
                                                "the gradients of the ranks"));
    data = device_copy_.data();
    MPC_RETURN_IF_ERROR(device->download(schema::Space::State,
                                         gradients_->offset(), data, bytes));
  }
  // Programs without micro-batches do not clear them after an update.
  if (!has_batches) std::memset(data, 0, bytes);
  begin_sums(device);
  for (size_t i = 0; i < buckets_.size(); ++i)
    MPC_RETURN_IF_ERROR(sum_bucket(data, i));
  if (!device_copy_.data()) return nullptr;
  return device->upload(schema::Space::State, gradients_->offset(), data,
                        bytes);
}

mpc_status_t Ranks::sum_bucket(uint8_t* gradients, size_t i) const {
  const Bucket& bucket = buckets_[i];
  if (rounded_sums_) {
    MPC_RETURN_IF_ERROR(rounded_sums_->sum(reinterpret_cast<float*>(gradients),
                                           owners_->bounds(i), !sharding_));
    if (sharding_) sharding_->release_bucket(i, gradients);
    return nullptr;
  }
  const mpc_dtype_t dtype = dtype_of(gradients_->dtype());
  const uint64_t each = mpc_dtype_size(dtype);
  std::vector<uint64_t> elements;
  if (sharding_) {
    for (uint64_t bound : sharding_->shards().owners().bounds(i))
      elements.push_back(bound - bucket.begin / each);
  } else {
    for (uint64_t offset : ranges_of(bucket.end - bucket.begin, size()))
      elements.push_back(offset / each);
  }
  uint8_t* const data = gradients + bucket.begin;
  MPC_RETURN_IF_ERROR(communicator_.reduce_scatter(communicator_.user, data,
                                                   elements.data(), dtype));
  if (sharding_) {
    sharding_->release_bucket(i, gradients);
    return nullptr;
  }
  std::vector<uint64_t> bytes;
  for (uint64_t element : elements) bytes.push_back(element * each);
  return communicator_.all_gather(communicator_.user, data, bytes.data());
}

}  // namespace mpc::runtime
