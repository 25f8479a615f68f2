// Finds where values that are not finite first appear.

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/src/base/number.h"
#include "runtime/src/program/roles.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

using AlignedBuffer = std::vector<uint64_t>;  // Aligned for every type.

// A tensor on the device.
struct Region {
  schema::Space space;
  uint64_t offset;
  mpc_dtype_t dtype;
  uint64_t count;
  uint64_t bytes() const { return count * mpc_dtype_size(dtype); }
};

Region region_of(const schema::Buffer& buffer) {
  return {buffer.space(), buffer.offset(), dtype_of(buffer.dtype()),
          count_of(buffer.shape())};
}

mpc_status_t download(const Device& device, const Region& region,
                      AlignedBuffer* bytes) {
  bytes->resize(region.bytes() / sizeof(uint64_t) + 1);
  return device.download(region.space, region.offset, bytes->data(),
                         region.bytes());
}

// The first NaN of a tensor, or the first infinity if it has none.
struct NonFinite {
  bool found = false;
  bool is_nan = false;
  uint64_t position = 0;
  const char* kind() const { return is_nan ? "nan" : "inf"; }
};

mpc_status_t find_non_finite_in(const Device& device, const Region& region,
                                AlignedBuffer* bytes,
                                NonFinite* out_non_finite) {
  MPC_RETURN_IF_ERROR(download(device, region, bytes));
  *out_non_finite = {};
  for (bool infinities : {false, true}) {
    uint64_t position =
        find_non_finite(region.dtype, bytes->data(), region.count, infinities);
    if (position == region.count) continue;
    *out_non_finite = {true, !infinities, position};
    break;
  }
  return nullptr;
}

mpc_status_t find_non_finite_in(const mpc_session_t& session,
                                const StateTensor& state, AlignedBuffer* bytes,
                                NonFinite* out_non_finite) {
  const Region region = {schema::Space::State, state.offset, state.dtype,
                         state.count};
  return find_non_finite_in(*session.device, region, bytes, out_non_finite);
}

// Records the first instruction that writes an infinity and the first that
// writes a NaN. Values that were there before do not count: an instruction may
// write only a part of its operand, and the rest is left over from another
// instruction, perhaps in another type. Instructions of the optimizer count
// only if no other does: the norm of the gradients may be computed before the
// loss, and is not what made the loss infinite.
class FirstNonFinite : public Observer {
 public:
  explicit FirstNonFinite(const Device& device) : device_(device) {}
  ~FirstNonFinite() override { mpc_status_free(status_); }

  bool before(const schema::Instruction& instruction) override {
    before_.resize(instruction.operands()->size());
    for (uint32_t i = 0; i < instruction.operands()->size() && !status_; ++i) {
      const schema::Buffer& buffer = *instruction.operands()->Get(i);
      if (buffer.space() == schema::Space::Arena)
        status_ = download(device_, region_of(buffer), &before_[i]);
    }
    return !status_;
  }

  bool after(const schema::Instruction& instruction) override {
    for (uint32_t i = 0; i < instruction.operands()->size(); ++i) {
      const schema::Buffer& buffer = *instruction.operands()->Get(i);
      if (buffer.space() != schema::Space::Arena) continue;
      status_ = download(device_, region_of(buffer), &buffer_);
      if (status_) return false;
      Found& found = is_optimizer(instruction) ? optimizer_ : model_;
      if (!found.nan && writes(region_of(buffer), before_[i], false))
        found.nan = &instruction;
      if (!found.infinity && writes(region_of(buffer), before_[i], true))
        found.infinity = &instruction;
    }
    return !model_.nan;
  }

  // Null if no instruction wrote a NaN.
  const schema::Instruction* nan() const { return found().nan; }
  // nan() itself if that instruction was the first to write either kind.
  const schema::Instruction* infinity() const { return found().infinity; }
  mpc_status_t take_status() { return std::exchange(status_, nullptr); }

 private:
  struct Found {
    const schema::Instruction* nan = nullptr;
    const schema::Instruction* infinity = nullptr;
  };

  static bool is_optimizer(const schema::Instruction& instruction) {
    return instruction.name() && instruction.name()->str() == "optimizer";
  }
  const Found& found() const {
    return model_.nan || model_.infinity ? model_ : optimizer_;
  }

  // Whether buffer_ has a NaN (or an infinity) that was not in `before`.
  bool writes(const Region& region, const AlignedBuffer& before,
              bool infinities) const {
    const uint64_t size = mpc_dtype_size(region.dtype);
    auto* now = reinterpret_cast<const char*>(buffer_.data());
    auto* then = reinterpret_cast<const char*>(before.data());
    for (uint64_t i = 0; i < region.count; ++i) {
      i += find_non_finite(region.dtype, now + i * size, region.count - i,
                           infinities);
      if (i < region.count &&
          std::memcmp(now + i * size, then + i * size, size) != 0)
        return true;
    }
    return false;
  }

  const Device& device_;
  std::vector<AlignedBuffer> before_;
  AlignedBuffer buffer_;
  Found model_, optimizer_;
  mpc_status_t status_ = nullptr;
};

// Finds an input that is not finite. A NaN ends the search; an infinity may be
// intended, as in a mask.
mpc_status_t find_non_finite_input(const mpc_session_t& session, uint32_t entry,
                                   bool* out_is_nan, std::string* out_text) {
  AlignedBuffer bytes;
  *out_is_nan = false;
  const Bindings* bindings = session.variant->entries()->Get(entry)->inputs();
  if (!bindings) return nullptr;
  for (const schema::Binding* binding : *bindings) {
    NonFinite non_finite;
    MPC_RETURN_IF_ERROR(find_non_finite_in(
        *session.device, region_of(*binding->buffer()), &bytes, &non_finite));
    if (!non_finite.found || (!out_text->empty() && !non_finite.is_nan))
      continue;
    *out_text = "input '" + binding->name()->str() + "' is not finite (" +
                non_finite.kind() + " at position " +
                std::to_string(non_finite.position) + ")";
    *out_is_nan = non_finite.is_nan;
    if (non_finite.is_nan) break;
  }
  return nullptr;
}

// Accumulated values are not an origin: they come from the step that is being
// explained.
bool is_carried(const StateTensor& state) {
  using schema::StateRole;
  return state.role == StateRole::GradientSum ||
         state.role == StateRole::Pending ||
         state.role == StateRole::PendingControl ||
         state.role == StateRole::LossSum ||
         state.role == StateRole::LossDivisor;
}

mpc_status_t find_non_finite_state(const mpc_session_t& session,
                                   std::string* out_text) {
  AlignedBuffer bytes;
  for (const StateTensor& state : session.program->tensors) {
    // Infinities are allowed in masks and in working copies that no op reads.
    if (state.kind == schema::StateKind::Constant ||
        state.kind == schema::StateKind::WorkingCopy || is_carried(state))
      continue;
    NonFinite non_finite;
    MPC_RETURN_IF_ERROR(
        find_non_finite_in(session, state, &bytes, &non_finite));
    if (!non_finite.found) continue;
    const bool is_untrained = state.kind == schema::StateKind::Parameter &&
                              session.progress.steps == 0;
    const std::string place = non_finite.kind() + std::string(" at position ") +
                              std::to_string(non_finite.position);
    *out_text = is_untrained ? "parameter '" + state.name + "' contains " +
                                   place + " before the first update"
                             : "state '" + state.name + "' is not finite (" +
                                   place + ")";
    break;
  }
  return nullptr;
}

// Finds a working copy that the instruction reads and that became infinite by
// rounding.
mpc_status_t find_non_finite_copy(const mpc_session_t& session,
                                  const schema::Instruction& instruction,
                                  std::string* out_text) {
  AlignedBuffer bytes;
  for (const schema::Buffer* buffer : *instruction.operands()) {
    if (buffer->space() != schema::Space::State) continue;
    for (const StateTensor& state : session.program->tensors) {
      if (state.kind != schema::StateKind::WorkingCopy ||
          state.offset < buffer->offset() ||
          state.offset >= buffer->offset() + bytes_of(*buffer))
        continue;
      NonFinite non_finite;
      MPC_RETURN_IF_ERROR(
          find_non_finite_in(session, state, &bytes, &non_finite));
      if (!non_finite.found) continue;
      *out_text += ", which reads '" + state.name +
                   "': the weight exceeds its range (" + non_finite.kind() +
                   " at position " + std::to_string(non_finite.position) + ")";
      return nullptr;
    }
  }
  return nullptr;
}

mpc_status_t clear_arena(mpc_session_t* session) {
  constexpr uint64_t kPiece = uint64_t{1} << 20;
  const uint64_t size = session->variant->arena_size();
  std::vector<uint8_t> zeros(std::min(size, kPiece));
  for (uint64_t done = 0; done < size; done += kPiece)
    MPC_RETURN_IF_ERROR(session->device->upload(schema::Space::Arena, done,
                                                zeros.data(),
                                                std::min(kPiece, size - done)));
  return nullptr;
}

mpc_status_t upload_inputs(mpc_session_t* session, uint32_t entry,
                           const mpc_tensor_t* inputs, size_t num_inputs) {
  const Bindings* bindings = session->variant->entries()->Get(entry)->inputs();
  for (size_t i = 0; i < num_inputs; ++i) {
    const mpc_tensor_t& tensor = tensor_at(inputs, i);
    const schema::Buffer& buffer =
        *bindings->Get(static_cast<uint32_t>(i))->buffer();
    MPC_RETURN_IF_ERROR(session->device->upload(buffer.space(), buffer.offset(),
                                                tensor.data, bytes_of(buffer),
                                                memory_kind_of(tensor)));
  }
  return nullptr;
}

// Moves the inputs of entry point `from` to the places of those of `to`.
mpc_status_t move_inputs(mpc_session_t* session, uint32_t from, uint32_t to) {
  const Bindings* sources = session->variant->entries()->Get(from)->inputs();
  const Bindings* targets = session->variant->entries()->Get(to)->inputs();
  if (!sources || !targets) return nullptr;
  std::vector<AlignedBuffer> buffers(sources->size());
  for (uint32_t i = 0; i < sources->size(); ++i)
    MPC_RETURN_IF_ERROR(download(
        *session->device, region_of(*sources->Get(i)->buffer()), &buffers[i]));
  for (uint32_t i = 0; i < sources->size(); ++i) {
    const schema::Buffer& buffer = *targets->Get(i)->buffer();
    MPC_RETURN_IF_ERROR(session->device->upload(
        buffer.space(), buffer.offset(), buffers[i].data(), bytes_of(buffer)));
  }
  return nullptr;
}

// Copies the inputs of a step to the places of the inputs of `entry`, which has
// the same inputs as a step.
mpc_status_t place_inputs(mpc_session_t* session, uint32_t entry,
                          const StepInputs& inputs, bool* out_placed) {
  *out_placed = true;
  if (inputs.tensors)
    return upload_inputs(session, entry, inputs.tensors, inputs.count);
  MPC_RETURN_IF_ERROR(
      session->executable->restore_inputs(inputs.later, out_placed));
  const auto step = static_cast<uint32_t>(session->known.step);
  return *out_placed && entry != step ? move_inputs(session, step, entry)
                                      : nullptr;
}

// Names the op that is the origin, if the program has `observe`.
mpc_status_t find_observed(mpc_session_t* session, const StepInputs& inputs,
                           bool of_update, std::string* out_text) {
  if (session->known.observe < 0) return nullptr;
  bool placed;
  MPC_RETURN_IF_ERROR(place_inputs(
      session, static_cast<uint32_t>(session->known.observe), inputs, &placed));
  return placed ? find_origin(session, of_update, out_text) : nullptr;
}

// "'fc1'"; "'fc1' or 2 other ops of its kernel" for "fc1 and 2 more".
std::string name_of(const schema::Instruction& instruction) {
  if (!instruction.name()) return "an instruction without a name";
  const std::string name = instruction.name()->str();
  const std::string before = " and ", after = " more";
  const size_t at = name.rfind(before);
  if (at == std::string::npos || name.size() < after.size() ||
      name.compare(name.size() - after.size(), std::string::npos, after) != 0)
    return "'" + name + "'";
  const size_t begin = at + before.size(), end = name.size() - after.size();
  if (end <= begin || name.find_first_not_of("0123456789", begin) != end)
    return "'" + name + "'";
  const std::string count = name.substr(begin, end - begin);
  return "'" + name.substr(0, at) + "' or " + count +
         (count == "1" ? " other op" : " other ops") + " of its kernel";
}

mpc_status_t describe(const mpc_session_t& session,
                      const FirstNonFinite& non_finite, std::string* out_text) {
  const schema::Instruction *infinity = non_finite.infinity(),
                            *nan = non_finite.nan();
  if (!infinity && !nan) return nullptr;
  const char* separator = out_text->empty() ? "" : ", ";
  if (!nan || infinity == nan) {
    *out_text += std::string(separator) +
                 "the first value that is not finite appears in " +
                 name_of(*infinity);
    return find_non_finite_copy(session, *infinity, out_text);
  }
  *out_text += std::string(separator) + "the first infinite value appears in " +
               name_of(*infinity);
  MPC_RETURN_IF_ERROR(find_non_finite_copy(session, *infinity, out_text));
  *out_text += ", the first nan in " + name_of(*nan);
  return nullptr;
}

// Runs the entry point on the inputs in the arena, and restores the states.
mpc_status_t find_non_finite_instruction(mpc_session_t* session, uint32_t entry,
                                         std::string* out_text) {
  Device& device = *session->device;
  std::vector<uint8_t> states(session->program->root->state_size());
  MPC_RETURN_IF_ERROR(
      device.download(schema::Space::State, 0, states.data(), states.size()));
  FirstNonFinite observer(device);
  MPC_RETURN_IF_ERROR(session->executable->trace(entry, observer));
  MPC_RETURN_IF_ERROR(observer.take_status());
  MPC_RETURN_IF_ERROR(
      device.upload(schema::Space::State, 0, states.data(), states.size()));
  return describe(*session, observer, out_text);
}

}  // namespace

mpc_status_t find_first_non_finite(mpc_session_t* session, uint32_t entry,
                                   const StepInputs& inputs,
                                   std::string* out_text) {
  MPC_RETURN_IF_ERROR(find_non_finite_state(*session, out_text));
  if (!out_text->empty()) return nullptr;
  MPC_RETURN_IF_ERROR(find_observed(session, inputs, false, out_text));
  if (!out_text->empty()) return nullptr;
  MPC_RETURN_IF_ERROR(clear_arena(session));
  bool has_inputs;
  MPC_RETURN_IF_ERROR(place_inputs(session, entry, inputs, &has_inputs));
  if (!has_inputs) {
    *out_text =
        "its batch is no longer available: train synchronously to find the "
        "place";
    return nullptr;
  }
  bool is_nan;
  MPC_RETURN_IF_ERROR(
      find_non_finite_input(*session, entry, &is_nan, out_text));
  if (is_nan) return nullptr;
  MPC_RETURN_IF_ERROR(find_non_finite_instruction(session, entry, out_text));
  if (out_text->empty())
    *out_text =
        inputs.later > 0
            ? "with the weights of the following step all values are finite"
            : "no value of the batch is infinite or NaN before the gradients "
              "are tested";
  return nullptr;
}

mpc_status_t find_non_finite_update(mpc_session_t* session,
                                    const StepInputs& inputs,
                                    std::string* out_text) {
  return find_observed(session, inputs, true, out_text);
}

}  // namespace mpc::runtime
