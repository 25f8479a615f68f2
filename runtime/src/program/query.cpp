// The queries of program.h.

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "runtime/src/base/guard.h"
#include "runtime/src/program/program.h"
#include "runtime/src/program/roles.h"

using namespace mpc::runtime;

int64_t mpc_program_s::find_tensor(const char* name) const {
  auto at = std::lower_bound(by_name.begin(), by_name.end(), name,
                             [this](uint32_t index, const char* key) {
                               return tensors[index].name < key;
                             });
  bool found = at != by_name.end() && tensors[*at].name == name;
  return found ? int64_t{*at} : -1;
}

static const schema::Entry* entry_of(const mpc_program_t* program,
                                     const char* name) {
  if (!program || !name) return nullptr;
  const schema::Variant& variant = first_variant(*program->root);
  int index = find_entry(variant, name);
  return index < 0 ? nullptr
                   : variant.entries()->Get(static_cast<uint32_t>(index));
}

int mpc_program_has_entry(const mpc_program_t* program, const char* entry) {
  return entry_of(program, entry) != nullptr;
}

size_t mpc_program_num_inputs(const mpc_program_t* program, const char* entry) {
  const schema::Entry* found = entry_of(program, entry);
  return found && found->inputs() ? found->inputs()->size() : 0;
}

size_t mpc_program_num_outputs(const mpc_program_t* program,
                               const char* entry) {
  const schema::Entry* found = entry_of(program, entry);
  return found && found->outputs() ? found->outputs()->size() : 0;
}

size_t mpc_program_batch_sizes(const mpc_program_t* program, const char* entry,
                               uint64_t* out_sizes, size_t capacity) {
  const schema::Entry* found = entry_of(program, entry);
  size_t count = 0;
  auto add = [&](uint64_t size) {
    if (size > 0 && count++ < capacity) out_sizes[count - 1] = size;
  };
  if (!found) return 0;
  add(batch_size_of(*found));
  if (found->other_batch() != 0) return count;
  for (const schema::Entry* other : *first_variant(*program->root).entries())
    if (role_of(*other) == role_of(*found) && other->other_batch() != 0)
      add(batch_size_of(*other));
  return count;
}

static mpc_status_t describe(const schema::Entry* entry,
                             const Bindings* bindings, size_t index,
                             const char* what, mpc_binding_info_t* out_info) {
  if (!out_info)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  if (!entry || !bindings || index >= bindings->size())
    return mpc_status_make(MPC_INVALID_ARGUMENT, "there is no %s %zu", what,
                           index);
  const schema::Binding& binding = *bindings->Get(static_cast<uint32_t>(index));
  mpc_binding_info_t info = {};
  info.name = binding.name()->c_str();
  info.dtype = dtype_of(binding.buffer()->dtype());
  info.rank = rank_of(binding.buffer()->shape());
  info.shape = extents_of(binding.buffer()->shape());
  info.batch_dim = binding.batch_dim();
  info.has_range = binding.has_range();
  info.has_ignored = binding.has_range() && binding.has_ignored();
  info.low = binding.low();
  info.high = binding.high();
  info.ignored = binding.ignored();
  return copy_out(info, out_info);
}

mpc_status_t mpc_program_input(const mpc_program_t* program, const char* entry,
                               size_t index, mpc_binding_info_t* out_info) {
  const schema::Entry* found = entry_of(program, entry);
  return describe(found, found ? found->inputs() : nullptr, index, "input",
                  out_info);
}

mpc_status_t mpc_program_output(const mpc_program_t* program, const char* entry,
                                size_t index, mpc_binding_info_t* out_info) {
  const schema::Entry* found = entry_of(program, entry);
  return describe(found, found ? found->outputs() : nullptr, index, "output",
                  out_info);
}

size_t mpc_program_num_states(const mpc_program_t* program) {
  return program ? program->tensors.size() : 0;
}

mpc_status_t mpc_program_state(const mpc_program_t* program, size_t index,
                               mpc_state_info_t* out_info) {
  if (!out_info)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  if (!program || index >= program->tensors.size())
    return mpc_status_make(MPC_INVALID_ARGUMENT, "there is no state %zu",
                           index);
  const StateTensor& tensor = program->tensors[index];
  mpc_state_info_t info = {};
  info.name = tensor.name.c_str();
  info.dtype = tensor.dtype;
  info.rank = tensor.rank;
  info.shape = tensor.shape;
  info.is_parameter = tensor.kind == schema::StateKind::Parameter;
  info.role = static_cast<mpc_state_role_t>(tensor.role);
  const StateTensor* owner = tensor.kind == schema::StateKind::Optimizer
                                 ? owner_of(*program, tensor)
                                 : nullptr;
  const bool is_of_weight =
      owner && owner->kind == schema::StateKind::Parameter;
  info.weight = is_of_weight ? owner->name.c_str() : nullptr;
  return copy_out(info, out_info);
}

static const schema::Entry* observe_of(const mpc_program_t* program) {
  if (!program) return nullptr;
  const schema::Variant& variant = first_variant(*program->root);
  int index = find_entry(variant, schema::EntryRole::Observe);
  return index < 0 ? nullptr
                   : variant.entries()->Get(static_cast<uint32_t>(index));
}

size_t mpc_program_num_observations(const mpc_program_t* program) {
  const schema::Entry* observe = observe_of(program);
  return observe ? observe->observations()->size() : 0;
}

mpc_status_t mpc_program_observation(const mpc_program_t* program, size_t index,
                                     mpc_observation_info_t* out_info) {
  if (!out_info)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the result is NULL");
  if (index >= mpc_program_num_observations(program))
    return mpc_status_make(MPC_INVALID_ARGUMENT, "there is no observation %zu",
                           index);
  const schema::Observation& row =
      *observe_of(program)->observations()->Get(static_cast<uint32_t>(index));
  mpc_observation_info_t info = {};
  info.name = row.name()->c_str();
  info.op = row.op() ? row.op()->c_str() : "";
  info.type = row.type() ? row.type()->c_str() : "";
  info.kind = static_cast<mpc_observation_kind_t>(row.kind());
  info.dtype = dtype_of(row.dtype());
  info.rank = rank_of(row.shape());
  info.shape = extents_of(row.shape());
  info.rounding = row.rounding();
  return copy_out(info, out_info);
}

size_t mpc_program_num_options(const mpc_program_t* program) {
  return program && program->root->options() ? program->root->options()->size()
                                             : 0;
}

const char* mpc_program_option_name(const mpc_program_t* program,
                                    size_t index) {
  if (index >= mpc_program_num_options(program)) return nullptr;
  return program->root->options()
      ->Get(static_cast<uint32_t>(index))
      ->name()
      ->c_str();
}

const char* mpc_program_option(const mpc_program_t* program, const char* name) {
  if (!program || !name || !program->root->options()) return nullptr;
  for (const schema::Option* option : *program->root->options())
    if (option->name()->string_view() == name)
      return option->value() ? option->value()->c_str() : "";
  return nullptr;
}

bool mpc::runtime::has_fixed_loss_scale(const mpc_program_t& program) {
  const char* scale = mpc_program_option(&program, "loss-scale");
  return scale && std::string_view(scale) != "dynamic";
}

float mpc::runtime::loss_scale_floor(const mpc_program_t& program) {
  const char* floor = mpc_program_option(&program, "loss-scale-min");
  return floor ? std::strtof(floor, nullptr) : 1.0f;
}

const char* mpc_program_report(const mpc_program_t* program, size_t* out_size) {
  if (out_size) *out_size = 0;
  if (!program || program->reports.empty()) return "";
  const std::string& text = program->reports.front().text;
  if (out_size) *out_size = text.size();
  return text.c_str();
}

const char* mpc_program_device_report(const mpc_program_t* program,
                                      const char* device, size_t* out_size) {
  if (out_size) *out_size = 0;
  if (!program || !device || !find_variant(*program->root, device))
    return nullptr;
  for (const auto& report : program->reports)
    if (report.device.empty() || report.device == device) {
      if (out_size) *out_size = report.text.size();
      return report.text.c_str();
    }
  return nullptr;
}

void mpc_program_memory(const mpc_program_t* program,
                        mpc_memory_info_t* out_info) {
  if (!program || !out_info) return;
  mpc_memory_info_t info = {};
  info.state_bytes = program->root->state_size();
  const schema::Variant& variant = first_variant(*program->root);
  info.arena_bytes = variant.arena_size();
  info.arena_unshared_bytes = variant.arena_unshared_size();
  mpc_status_free(copy_out(info, out_info));
}
