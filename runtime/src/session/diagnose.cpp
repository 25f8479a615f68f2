// Finding where numbers stopped being finite.

#include <string>
#include <vector>

#include "runtime/src/base/number.h"
#include "runtime/src/session/session.h"

namespace mpc::runtime {

namespace {

// Whether a tensor of the device holds a value that is not finite.
bool is_broken(const Device& device, schema::Space space, uint64_t offset,
               mpc_dtype_t dtype, uint64_t count, std::vector<uint64_t>* room) {
  uint64_t bytes = count * mpc_dtype_size(dtype);
  room->resize(bytes / sizeof(uint64_t) + 1);
  device.download(space, offset, room->data(), bytes);
  return find_non_finite(dtype, room->data(), count, true) < count;
}

// Remembers the first instruction one of whose buffers is not finite.
class FirstBroken : public Observer {
 public:
  explicit FirstBroken(const Device& device) : device_(device) {}

  bool after(const schema::Instruction& instruction) override {
    for (const schema::Buffer* buffer : *instruction.operands()) {
      if (buffer->space() != schema::Space::Arena ||
          !is_broken(device_, buffer->space(), buffer->offset(),
                     dtype_of(buffer->dtype()), count_of(buffer->shape()),
                     &room_))
        continue;
      name_ = instruction.name() ? instruction.name()->str() : "";
      found_ = true;
      return false;
    }
    return true;
  }

  bool found() const { return found_; }
  const std::string& name() const { return name_; }

 private:
  const Device& device_;
  std::vector<uint64_t> room_;
  std::string name_;
  bool found_ = false;
};

std::string broken_input(const mpc_session_t& session, uint32_t entry) {
  std::vector<uint64_t> room;
  const Bindings* bindings =
      session.variant->entries()->Get(entry)->inputs();
  if (!bindings) return "";
  for (const schema::Binding* binding : *bindings) {
    const schema::Buffer& buffer = *binding->buffer();
    if (is_broken(*session.device, buffer.space(), buffer.offset(),
                  dtype_of(buffer.dtype()), count_of(buffer.shape()), &room))
      return "input '" + binding->name()->str() + "' is not finite";
  }
  return "";
}

std::string broken_state(const mpc_session_t& session) {
  std::vector<uint64_t> room;
  for (const StateTensor& state : session.program->tensors)
    if (state.kind != schema::StateKind::Constant &&
        is_broken(*session.device, schema::Space::State, state.offset,
                  state.dtype, state.count, &room))
      return "state '" + state.name + "' is not finite";
  return "";
}

}  // namespace

std::string find_first_non_finite(mpc_session_t* session, uint32_t entry,
                                  const mpc_tensor_t* inputs,
                                  size_t num_inputs) {
  const schema::Program& root = *session->program->root;
  Device& device = *session->device;
  std::string found = broken_state(*session);
  if (!found.empty()) return found;

  const Bindings* bindings = session->variant->entries()->Get(entry)->inputs();
  for (size_t i = 0; i < num_inputs; ++i) {
    const schema::Buffer& buffer =
        *bindings->Get(static_cast<uint32_t>(i))->buffer();
    device.upload(buffer.space(), buffer.offset(), tensor_at(inputs, i).data,
                  bytes_of(buffer));
  }
  found = broken_input(*session, entry);
  if (!found.empty()) return found;

  std::vector<uint8_t> states(root.state_size());
  device.download(schema::Space::State, 0, states.data(), states.size());
  FirstBroken observer(device);
  mpc_status_t status = session->executable->trace(entry, observer);
  device.upload(schema::Space::State, 0, states.data(), states.size());
  mpc_status_free(status);
  if (observer.found())
    return "the first value that is not finite appears in '" + observer.name() +
           "'";
  return "no value of the last batch is infinite or NaN before the gradients "
         "are tested";
}

}  // namespace mpc::runtime
