// Finding where numbers stopped being finite.

#include <string>
#include <utility>
#include <vector>

#include "runtime/src/base/number.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

// Whether a tensor of the device holds a value that is not finite.
mpc_status_t find_broken(const Device& device, schema::Space space,
                         uint64_t offset, mpc_dtype_t dtype, uint64_t count,
                         std::vector<uint64_t>* room, bool* out_broken) {
  uint64_t bytes = count * mpc_dtype_size(dtype);
  room->resize(bytes / sizeof(uint64_t) + 1);
  MPC_RETURN_IF_ERROR(device.download(space, offset, room->data(), bytes));
  *out_broken = find_non_finite(dtype, room->data(), count, true) < count;
  return nullptr;
}

mpc_status_t find_broken(const Device& device, const schema::Buffer& buffer,
                         std::vector<uint64_t>* room, bool* out_broken) {
  return find_broken(device, buffer.space(), buffer.offset(),
                     dtype_of(buffer.dtype()), count_of(buffer.shape()), room,
                     out_broken);
}

// Remembers the first instruction one of whose buffers is not finite.
class FirstBroken : public Observer {
 public:
  explicit FirstBroken(const Device& device) : device_(device) {}
  ~FirstBroken() override { mpc_status_free(status_); }

  bool after(const schema::Instruction& instruction) override {
    for (const schema::Buffer* buffer : *instruction.operands()) {
      if (buffer->space() != schema::Space::Arena) continue;
      status_ = find_broken(device_, *buffer, &room_, &found_);
      if (status_) return false;
      if (!found_) continue;
      name_ = instruction.name() ? instruction.name()->str() : "";
      return false;
    }
    return true;
  }

  bool found() const { return found_; }
  const std::string& name() const { return name_; }
  mpc_status_t take_status() { return std::exchange(status_, nullptr); }

 private:
  const Device& device_;
  std::vector<uint64_t> room_;
  std::string name_;
  bool found_ = false;
  mpc_status_t status_ = nullptr;
};

mpc_status_t find_broken_input(const mpc_session_t& session, uint32_t entry,
                               std::string* out_text) {
  std::vector<uint64_t> room;
  const Bindings* bindings = session.variant->entries()->Get(entry)->inputs();
  if (!bindings) return nullptr;
  for (const schema::Binding* binding : *bindings) {
    bool broken;
    MPC_RETURN_IF_ERROR(
        find_broken(*session.device, *binding->buffer(), &room, &broken));
    if (!broken) continue;
    *out_text = "input '" + binding->name()->str() + "' is not finite";
    break;
  }
  return nullptr;
}

mpc_status_t find_broken_state(const mpc_session_t& session,
                               std::string* out_text) {
  std::vector<uint64_t> room;
  for (const StateTensor& state : session.program->tensors) {
    if (state.kind == schema::StateKind::Constant) continue;
    bool broken;
    MPC_RETURN_IF_ERROR(find_broken(*session.device, schema::Space::State,
                                    state.offset, state.dtype, state.count,
                                    &room, &broken));
    if (!broken) continue;
    *out_text = "state '" + state.name + "' is not finite";
    break;
  }
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
                                                place_of(tensor)));
  }
  return nullptr;
}

// Runs the entry point on what the arena has as inputs. States are put back.
mpc_status_t find_broken_instruction(mpc_session_t* session, uint32_t entry,
                                     std::string* out_text) {
  Device& device = *session->device;
  std::vector<uint8_t> states(session->program->root->state_size());
  MPC_RETURN_IF_ERROR(
      device.download(schema::Space::State, 0, states.data(), states.size()));
  FirstBroken observer(device);
  MPC_RETURN_IF_ERROR(session->executable->trace(entry, observer));
  MPC_RETURN_IF_ERROR(observer.take_status());
  MPC_RETURN_IF_ERROR(
      device.upload(schema::Space::State, 0, states.data(), states.size()));
  if (observer.found())
    *out_text = "the first value that is not finite appears in '" +
                observer.name() + "'";
  return nullptr;
}

}  // namespace

mpc_status_t find_first_non_finite(mpc_session_t* session, uint32_t entry,
                                   const mpc_tensor_t* inputs,
                                   size_t num_inputs, std::string* out_text) {
  MPC_RETURN_IF_ERROR(find_broken_state(*session, out_text));
  if (!out_text->empty()) return nullptr;
  if (inputs) {
    MPC_RETURN_IF_ERROR(upload_inputs(session, entry, inputs, num_inputs));
  } else if (session->known.apply >= 0) {
    // `apply` has used the arena since.
    *out_text = "the batch is gone: train synchronously to see where";
    return nullptr;
  }
  MPC_RETURN_IF_ERROR(find_broken_input(*session, entry, out_text));
  if (!out_text->empty()) return nullptr;
  MPC_RETURN_IF_ERROR(find_broken_instruction(session, entry, out_text));
  if (out_text->empty())
    *out_text =
        "no value of the last batch is infinite or NaN before the gradients "
        "are tested";
  return nullptr;
}

}  // namespace mpc::runtime
