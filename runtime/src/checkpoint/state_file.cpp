// state.json: everything of a session that is small.

#include <cstring>

#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

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
      break;
  }
  return StoredIn::kNowhere;
}

static bool is_loss_scaling(const std::string& name) {
  return name == "loss_scale" || name == "loss_scale_streak";
}

uint64_t program_hash(const mpc_program_t& program) {
  std::string text;
  for (uint32_t index : program.by_name) {
    const StateTensor& tensor = program.tensors[index];
    if (stored_in(tensor) == StoredIn::kNowhere || is_loss_scaling(tensor.name))
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

mpc_status_t state_text(const mpc_session_t& session, std::string* out_text) {
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

mpc_status_t damaged(const std::string& path, const std::string& what) {
  return mpc_status_make(MPC_DAMAGED, "'%s' is damaged: %s", path.c_str(),
                         what.c_str());
}

mpc_status_t incompatible(const std::string& path, const std::string& what) {
  return mpc_status_make(MPC_INCOMPATIBLE,
                         "'%s' belongs to another program: %s", path.c_str(),
                         what.c_str());
}

mpc_status_t parse_control(const std::string& path, const Json& control,
                           const mpc_program_t& program, uint8_t* states) {
  for (const StateTensor& tensor : program.tensors) {
    if (stored_in(tensor) != StoredIn::kState) continue;
    const Json* value = control.find(tensor.name.c_str());
    if (!value && is_loss_scaling(tensor.name)) continue;
    if (!value) return incompatible(path, "it lacks '" + tensor.name + "'");
    const Json* type = value->find("type");
    const Json* bits = value->find("bits");
    if (!type || type->kind != Json::Kind::kString || !bits ||
        bits->kind != Json::Kind::kString)
      return damaged(path, "'" + tensor.name + "' has no value");
    std::string wanted = type_text(tensor.dtype, tensor.shape, tensor.rank);
    if (type->text != wanted)
      return incompatible(path, "'" + tensor.name + "' is " + type->text +
                                    ", the program's is " + wanted);
    if (!parse_hex_bytes(bits->text, states + tensor.offset, tensor.bytes))
      return damaged(path, "'" + tensor.name + "' has no value");
  }
  for (const auto& [name, value] : control.members) {
    int64_t index = program.find_tensor(name.c_str());
    bool known =
        index >= 0 && stored_in(program.tensors[static_cast<size_t>(index)]) ==
                          StoredIn::kState;
    if (!known && !is_loss_scaling(name))
      return incompatible(path, "the program has no '" + name + "'");
  }
  return nullptr;
}

bool parse_progress(const Json& json, Progress* progress) {
  auto number = [&json](const char* name, uint64_t* value) {
    const Json* found = json.find(name);
    return found && found->to_unsigned(value);
  };
  const Json* norm = json.find("grad_norm_bits");
  return number("updates", &progress->steps) &&
         number("micro_step", &progress->micro_step) &&
         number("floor_overflows", &progress->floor_overflows) && norm &&
         norm->kind == Json::Kind::kString &&
         parse_hex_bytes(norm->text, &progress->grad_norm,
                         sizeof(progress->grad_norm));
}

}  // namespace

mpc_status_t parse_state(const std::string& path, const char* data, size_t size,
                         const mpc_program_t& program, uint8_t* states,
                         Progress* out_progress, Properties* out_properties) {
  Json json;
  std::string error;
  if (!Json::parse(data, size, &json, &error)) return damaged(path, error);
  Progress progress;
  if (!parse_progress(json, &progress))
    return damaged(path, "it does not say where training stands");
  if (progress.micro_step >= program.root->accumulate() &&
      progress.micro_step > 0)
    return incompatible(path, "it accumulates more micro-batches");
  const Json* control = json.find("control");
  const Json* named = json.find("properties");
  if (!control || control->kind != Json::Kind::kObject || !named ||
      named->kind != Json::Kind::kObject)
    return damaged(path, "it lacks control states or properties");
  Properties properties;
  for (const auto& [name, value] : named->members) {
    // What set_property takes; it ends at the first NUL.
    if (value.kind != Json::Kind::kString ||
        name.find('\0') != std::string::npos ||
        value.text.find('\0') != std::string::npos)
      return damaged(path, "a property is not a string");
    properties[name] = value.text;
  }
  MPC_RETURN_IF_ERROR(parse_control(path, *control, program, states));
  *out_progress = progress;
  *out_properties = std::move(properties);
  return nullptr;
}

}  // namespace mpc::runtime
