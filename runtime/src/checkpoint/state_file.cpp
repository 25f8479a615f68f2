// state.json: control states, progress and properties of a session.

#include <cstring>

#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"
#include "runtime/src/program/roles.h"

namespace mpc::runtime {

using schema::StateRole;

StoredIn stored_in(const StateTensor& tensor) {
  switch (tensor.kind) {
    case schema::StateKind::Parameter:
    case schema::StateKind::Statistic:
      return StoredIn::kModel;
    case schema::StateKind::Optimizer:
      return StoredIn::kOptimizer;
    case schema::StateKind::Control:
      return StoredIn::kState;
    case schema::StateKind::Constant:
    case schema::StateKind::WorkingCopy:
    case schema::StateKind::Derived:
      break;
  }
  return StoredIn::kNowhere;
}

static bool is_loss_scaling(const StateTensor& tensor) {
  return tensor.role == StateRole::LossScale ||
         tensor.role == StateRole::LossScaleStreak;
}

// The same by name, for states of a checkpoint that the program does not have.
static bool is_loss_scaling(const std::string& name) {
  const std::string usual = usual_name(name);
  return usual == "loss_scale" || usual == "loss_scale_streak";
}

const StateTensor* pending_of(const mpc_program_t& program,
                              const StateTensor& tensor) {
  if (tensor.role != StateRole::Pending &&
      tensor.role != StateRole::PendingControl)
    return nullptr;
  const StateTensor* base = owner_of(program, tensor);
  bool same = base && base->dtype == tensor.dtype &&
              base->bytes == tensor.bytes && base->rank == tensor.rank;
  return same ? base : nullptr;
}

uint64_t program_hash(const mpc_program_t& program) {
  std::string text;
  for (uint32_t index : program.by_name) {
    const StateTensor& tensor = program.tensors[index];
    if (stored_in(tensor) == StoredIn::kNowhere || is_loss_scaling(tensor))
      continue;
    text += tensor.name + '\0' + std::to_string(static_cast<int>(tensor.kind)) +
            type_text(tensor.dtype, tensor.shape, tensor.rank) + '\0';
  }
  for (const schema::Entry* entry : *first_variant(*program.root).entries())
    text += entry->name()->str() + '\0';
  return checksum(text.data(), text.size());
}

static std::string bits_of(float value) {
  return hex_of_bytes(&value, sizeof(value));
}

// Limits on JSON values in state.json: a control state has three values, a
// property has one.
static constexpr size_t kMaxStateValues = 1 << 16;
static constexpr size_t kMaxProperties = kMaxStateValues / 2;

static mpc_status_t check_properties(const Properties& properties) {
  size_t bytes = 0;
  for (const auto& [name, value] : properties)
    bytes += json_quote(name).size() + json_quote(value).size();
  if (properties.size() <= kMaxProperties && bytes <= kMaxState / 2)
    return nullptr;
  return mpc_status_make(MPC_INVALID_ARGUMENT,
                         "the session has %zu properties of %zu bytes; a "
                         "checkpoint holds at most %zu of %zu bytes",
                         properties.size(), bytes, kMaxProperties,
                         static_cast<size_t>(kMaxState / 2));
}

mpc_status_t state_text(const mpc_session_t& session, std::string* out_text) {
  MPC_RETURN_IF_ERROR(check_properties(session.properties));
  const schema::Program& root = *session.program->root;
  auto text_of = [](const flatbuffers::String* text) {
    std::string value = text ? text->str() : "";
    return json_quote(is_utf8(value.data(), value.size()) ? value : "");
  };
  const Progress& progress = session.progress;
  uint64_t steps;
  MPC_RETURN_IF_ERROR(steps_done(session, &steps));
  std::string text =
      "{\n\"producer\": " + text_of(root.producer()) +
      ",\n\"model\": " + text_of(root.model()) + ",\n\"program\": \"" +
      hex_of(program_hash(*session.program)) +
      "\",\n\"step\": " + std::to_string(steps) +
      ",\n\"updates\": " + std::to_string(progress.steps) +
      ",\n\"micro_step\": " + std::to_string(progress.micro_step) +
      ",\n\"floor_overflows\": " + std::to_string(progress.floor_overflows) +
      ",\n\"grad_norm_bits\": \"" + bits_of(progress.grad_norm) +
      "\",\n\"control\": {";
  const char* separator = "\n";
  for (const StateTensor& tensor : session.program->tensors) {
    if (stored_in(tensor) != StoredIn::kState) continue;
    std::vector<uint8_t> bytes(tensor.bytes);
    MPC_RETURN_IF_ERROR(session.device->download(
        schema::Space::State, tensor.offset, bytes.data(), bytes.size()));
    text += separator + json_quote(tensor.name) + ": {\"type\": \"" +
            type_text(tensor.dtype, tensor.shape, tensor.rank) +
            "\", \"bits\": \"" + hex_of_bytes(bytes.data(), bytes.size()) +
            "\"}";
    separator = ",\n";
  }
  text += "\n},\n\"properties\": {";
  separator = "\n";
  for (const auto& [name, value] : session.properties) {
    text += separator + json_quote(name) + ": " + json_quote(value);
    separator = ",\n";
  }
  *out_text = text + "\n}\n}\n";
  return nullptr;
}

namespace {

mpc_status_t damaged_state_file(const std::string& path,
                                const std::string& what) {
  return mpc_status_make(MPC_DAMAGED, "'%s' is damaged: %s", path.c_str(),
                         what.c_str());
}

mpc_status_t incompatible(const std::string& path, const std::string& what) {
  return mpc_status_make(MPC_INCOMPATIBLE,
                         "checkpoint '%s' was made for another program: %s",
                         parent_folder(path).c_str(), what.c_str());
}

// The number of bytes of a type written by type_text; false if it is not a
// type.
bool bytes_of_type(const std::string& text, uint64_t* bytes) {
  size_t open = text.find('[');
  if (open == std::string::npos || text.back() != ']') return false;
  size_t size = 0;
  for (mpc_dtype_t dtype :
       {MPC_DTYPE_F32, MPC_DTYPE_F16, MPC_DTYPE_BF16, MPC_DTYPE_F64,
        MPC_DTYPE_I64, MPC_DTYPE_I32, MPC_DTYPE_U8, MPC_DTYPE_BOOL}) {
    if (text.compare(0, open, mpc_dtype_name(dtype)) == 0)
      size = mpc_dtype_size(dtype);
  }
  std::string list = '[' + text.substr(open + 1);
  Json shape;
  std::string error;
  constexpr size_t kMaxDimensions = 64;
  if (size == 0 || !Json::parse(list.data(), list.size(), 1 + kMaxDimensions,
                                &shape, &error))
    return false;
  std::vector<int64_t> extents(shape.items.size());
  for (size_t i = 0; i < extents.size(); ++i)
    if (!shape.items[i].to_signed(&extents[i])) return false;
  uint64_t count;
  return count_elements(extents.data(), extents.size(), &count) &&
         multiply_sizes(count, size, bytes);
}

bool parse_control(const Json& json, StateFile::Control* control) {
  const Json* type = json.find("type");
  const Json* bits = json.find("bits");
  uint64_t bytes;
  if (!type || type->kind != Json::Kind::kString || !bits ||
      bits->kind != Json::Kind::kString || !bytes_of_type(type->text, &bytes) ||
      bytes > bits->text.size())
    return false;
  control->type = type->text;
  control->bytes.resize(bytes);
  return parse_hex_bytes(bits->text, control->bytes.data(), bytes);
}

// Parses a step count, which must fit an int64.
bool to_count(const Json* json, uint64_t* value) {
  return json && json->to_unsigned(value) &&
         *value <= static_cast<uint64_t>(INT64_MAX);
}

bool parse_progress(const Json& json, Progress* progress) {
  const Json* norm = json.find("grad_norm_bits");
  return to_count(json.find("updates"), &progress->steps) &&
         to_count(json.find("micro_step"), &progress->micro_step) &&
         to_count(json.find("floor_overflows"), &progress->floor_overflows) &&
         norm && norm->kind == Json::Kind::kString &&
         parse_hex_bytes(norm->text, &progress->grad_norm,
                         sizeof(progress->grad_norm));
}

// Whether "step", which is for people, equals the program's step counter.
bool is_right_step(const Json& json, const StateFile& state) {
  uint64_t step;
  if (!to_count(json.find("step"), &step)) return false;
  // If the model has a state of that name, the compiler's counter has more
  // "mpc." prefixes than it, so the longest name is the compiler's.
  std::string name = "step_count";
  auto counter = state.control.find(name);
  for (const auto& [other, value] : state.control)
    if (usual_name(other) == "step_count" && other.size() >= name.size()) {
      name = other;
      counter = state.control.find(name);
    }
  if (counter == state.control.end() || counter->second.type != "i64[]")
    return true;
  return std::memcmp(counter->second.bytes.data(), &step, sizeof(step)) == 0;
}

}  // namespace

mpc_status_t parse_state(const std::string& path, const char* data, size_t size,
                         StateFile* out_state) {
  Json json;
  std::string error;
  if (!Json::parse(data, size, kMaxStateValues + kMaxProperties, &json, &error))
    return damaged_state_file(path, error);
  StateFile state;
  if (!parse_progress(json, &state.progress))
    return damaged_state_file(path,
                              "it does not record the position of training");
  const Json* control = json.find("control");
  const Json* named = json.find("properties");
  if (!control || control->kind != Json::Kind::kObject || !named ||
      named->kind != Json::Kind::kObject)
    return damaged_state_file(path, "it lacks control states or properties");
  for (const auto& [name, value] : named->members) {
    // mpc_session_set_property takes C strings, so these cannot contain NUL.
    if (value.kind != Json::Kind::kString ||
        name.find('\0') != std::string::npos ||
        value.text.find('\0') != std::string::npos)
      return damaged_state_file(path, "a property is not a string");
    state.properties[name] = value.text;
  }
  for (const auto& [name, value] : control->members)
    if (!parse_control(value, &state.control[name]))
      return damaged_state_file(path, "'" + name + "' has no value");
  if (!is_right_step(json, state))
    return damaged_state_file(path,
                              "its step differs from the program's counter");
  *out_state = std::move(state);
  return nullptr;
}

mpc_status_t apply_state(const std::string& path, const StateFile& state,
                         const mpc_program_t& program, uint8_t* states,
                         std::vector<const StateTensor*>* missing,
                         std::string* out_mismatch) {
  // Returns an error, or records the mismatch and returns null if it is
  // allowed.
  auto mismatch = [&](const std::string& what) -> mpc_status_t {
    if (!out_mismatch) return incompatible(path, what);
    if (out_mismatch->empty()) *out_mismatch = what;
    return nullptr;
  };
  if (state.progress.micro_step >= program.root->accumulate() &&
      state.progress.micro_step > 0)
    return incompatible(path, "it accumulates more micro-batches");
  for (const StateTensor& tensor : program.tensors) {
    if (stored_in(tensor) != StoredIn::kState) continue;
    auto found = state.control.find(tensor.name);
    if (found == state.control.end()) {
      bool is_pending = pending_of(program, tensor) != nullptr;
      if (is_pending) missing->push_back(&tensor);
      if (is_pending || is_loss_scaling(tensor)) continue;
      MPC_RETURN_IF_ERROR(mismatch("it has no '" + tensor.name + "'"));
      continue;
    }
    std::string wanted = type_text(tensor.dtype, tensor.shape, tensor.rank);
    if (found->second.type != wanted)
      return incompatible(path, "'" + tensor.name + "' is " +
                                    found->second.type + ", the program's is " +
                                    wanted);
    if (tensor.role == StateRole::LossScale && has_fixed_loss_scale(program))
      continue;
    if (tensor.bytes > 0)
      std::memcpy(states + tensor.offset, found->second.bytes.data(),
                  tensor.bytes);
  }
  for (const auto& [name, value] : state.control) {
    int64_t index = program.find_tensor(name.c_str());
    bool known =
        index >= 0 && stored_in(program.tensors[static_cast<size_t>(index)]) ==
                          StoredIn::kState;
    if (!known && !is_loss_scaling(name))
      MPC_RETURN_IF_ERROR(mismatch("the program does not use '" + name + "'"));
  }
  return nullptr;
}

}  // namespace mpc::runtime
