#include "runtime/src/program/roles.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace mpc::runtime {

namespace {

using schema::EntryRole;
using schema::StateKind;
using schema::StateRole;

struct NamedState {
  std::string_view name;
  StateKind kind;
  StateRole role;
};

// State names that imply a role in packages older than roles.
constexpr NamedState kStates[] = {
    {"adam.first_moment", StateKind::Optimizer, StateRole::FirstMoment},
    {"adam.second_moment", StateKind::Optimizer, StateRole::SecondMoment},
    {"gradients", StateKind::Optimizer, StateRole::GradientSum},
    {"ema", StateKind::Optimizer, StateRole::Average},
    {"compensation", StateKind::Optimizer, StateRole::Compensation},
    {"fp8.scales", StateKind::Optimizer, StateRole::Fp8Scales},
    {"fp8.amax_history", StateKind::Optimizer, StateRole::Fp8History},
    {"fp8.amax", StateKind::Optimizer, StateRole::Fp8Amax},
    {"step_count", StateKind::Control, StateRole::StepCount},
    {"micro_step", StateKind::Control, StateRole::MicroStep},
    {"ema_count", StateKind::Control, StateRole::AverageCount},
    {"total_steps", StateKind::Control, StateRole::TotalSteps},
    {"learning_rate", StateKind::Control, StateRole::LearningRate},
    {"random_seed", StateKind::Control, StateRole::RandomSeed},
    {"loss_sum", StateKind::Control, StateRole::LossSum},
    {"loss_divisor", StateKind::Control, StateRole::LossDivisor},
    {"loss_scale", StateKind::Control, StateRole::LossScale},
    {"loss_scale_streak", StateKind::Control, StateRole::LossScaleStreak},
    {"fault_place", StateKind::Control, StateRole::FaultPlace},
    {"fault_value", StateKind::Constant, StateRole::FaultValue},
};

constexpr std::string_view kPending = "pending/";

StateRole role_by_kind(StateKind kind) {
  switch (kind) {
    case StateKind::Parameter:
      return StateRole::Parameter;
    case StateKind::Statistic:
      return StateRole::Statistic;
    case StateKind::Constant:
      return StateRole::Constant;
    case StateKind::Optimizer:
      return StateRole::Optimizer;
    case StateKind::WorkingCopy:
      return StateRole::WorkingCopy;
    case StateKind::Control:
      return StateRole::Control;
    case StateKind::Derived:
      return StateRole::Derived;
  }
  return StateRole::None;
}

bool is_pending(StateRole role) {
  return role == StateRole::Pending || role == StateRole::PendingControl;
}

}  // namespace

StateRole role_of(const schema::State& state) {
  if (state.role() != StateRole::None) return state.role();
  const std::string_view name = state.name()->string_view();
  for (const NamedState& known : kStates)
    if (known.name == name && known.kind == state.kind()) return known.role;
  if (name.substr(0, kPending.size()) == kPending) {
    if (state.kind() == StateKind::Optimizer) return StateRole::Pending;
    if (state.kind() == StateKind::Control) return StateRole::PendingControl;
  }
  return role_by_kind(state.kind());
}

EntryRole role_of(const schema::Entry& entry) {
  if (entry.role() != EntryRole::None) return entry.role();
  const std::string_view name = entry.name()->string_view();
  constexpr std::string_view kNames[] = {
      "predict", "evaluate",   "train",  "step",    "accumulate",
      "apply",   "initialize", "derive", "observe", "probe"};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<EntryRole>(i + 1);
  return EntryRole::None;
}

namespace {

StateKind kind_of(StateRole role) {
  if (role == StateRole::Parameter) return StateKind::Parameter;
  if (role == StateRole::Statistic) return StateKind::Statistic;
  if (role == StateRole::Constant || role == StateRole::FaultValue)
    return StateKind::Constant;
  if (role == StateRole::WorkingCopy) return StateKind::WorkingCopy;
  if (role == StateRole::Derived || role == StateRole::Residual ||
      role == StateRole::RankSeed || role == StateRole::RankGradients)
    return StateKind::Derived;
  if (role >= StateRole::Control || role == StateRole::PendingControl)
    return StateKind::Control;
  return StateKind::Optimizer;
}

// Single-number states that a session reads or writes.
struct Number {
  StateRole role;
  schema::DType dtype;  // None: any float.
};
constexpr Number kNumbers[] = {
    {StateRole::StepCount, schema::DType::I64},
    {StateRole::RandomSeed, schema::DType::I64},
    {StateRole::RankSeed, schema::DType::I64},
    {StateRole::TotalSteps, schema::DType::I64},
    {StateRole::LossScale, schema::DType::F32},
    {StateRole::LossScaleStreak, schema::DType::I32},
    {StateRole::LossSum, schema::DType::None},
    {StateRole::LearningRate, schema::DType::None},
};

bool is_number(const schema::State& state, schema::DType dtype) {
  const bool is_float = state.dtype() == schema::DType::F32 ||
                        state.dtype() == schema::DType::F64;
  return rank_of(state.shape()) == 0 &&
         (!state.slots() || state.slots()->size() == 0) &&
         (dtype == schema::DType::None ? is_float : state.dtype() == dtype);
}

constexpr char kUnknownRole[] =
    "its role is unknown; a newer mpc may have written the package";

mpc_status_t damaged_role(const std::string& where, const char* what) {
  return mpc_status_make(MPC_DAMAGED, "the package is inconsistent: %s: %s",
                         where.c_str(), what);
}

bool have_same_type(const schema::State& a, const schema::State& b) {
  return a.dtype() == b.dtype() && rank_of(a.shape()) == rank_of(b.shape()) &&
         std::equal(extents_of(a.shape()),
                    extents_of(a.shape()) + rank_of(a.shape()),
                    extents_of(b.shape()));
}

mpc_status_t check_role(const schema::Program& root,
                        const schema::State& state) {
  const std::string where = "state '" + state.name()->str() + "'";
  const auto& list = *root.states();
  if (state.role() > StateRole::MAX) return damaged_role(where, kUnknownRole);
  if (state.role() != StateRole::None && kind_of(state.role()) != state.kind())
    return damaged_role(where, "its role does not match its kind");
  if (state.of() < -1 ||
      (state.of() >= 0 && static_cast<uint32_t>(state.of()) >= list.size()))
    return damaged_role(where, "it belongs to no state");
  if (is_pending(state.role()) &&
      (state.of() < 0 ||
       !have_same_type(state, *list.Get(static_cast<uint32_t>(state.of())))))
    return damaged_role(where, "it is pending for no state of its type");
  return nullptr;
}

}  // namespace

mpc_status_t check_state_roles(const schema::Program& root) {
  auto number_of = [&](StateRole role) -> const schema::State* {
    if (root.states())
      for (const schema::State* state : *root.states())
        if (role_of(*state) == role) return state;
    return nullptr;
  };
  if (root.states())
    for (const schema::State* state : *root.states())
      MPC_RETURN_IF_ERROR(check_role(root, *state));
  for (const Number& number : kNumbers) {
    const schema::State* state = number_of(number.role);
    if (!state) continue;
    const std::string where = "state '" + state->name()->str() + "'";
    if (!is_number(*state, number.dtype))
      return damaged_role(where, "has the wrong type");
    for (const schema::State* other : *root.states())
      if (other != state && role_of(*other) == number.role)
        return damaged_role(where, "is there twice");
  }
  if (root.loss_scaling() && (!number_of(StateRole::LossScale) ||
                              !number_of(StateRole::LossScaleStreak)))
    return damaged_role("states",
                        "the loss is scaled, but its scale is missing");
  return nullptr;
}

// Whether all bindings have the same names, element types and ranks.
static bool differ_in_size_only(const Bindings* a, const Bindings* b) {
  const uint32_t size = a ? a->size() : 0;
  if (size != (b ? b->size() : 0)) return false;
  for (uint32_t i = 0; i < size; ++i) {
    const schema::Binding &x = *a->Get(i), &y = *b->Get(i);
    if (x.name()->string_view() != y.name()->string_view() ||
        x.buffer()->dtype() != y.buffer()->dtype() ||
        rank_of(x.buffer()->shape()) != rank_of(y.buffer()->shape()))
      return false;
  }
  return true;
}

static bool differ_in_size_only(const schema::Entry& a,
                                const schema::Entry& b) {
  return differ_in_size_only(a.inputs(), b.inputs()) &&
         differ_in_size_only(a.outputs(), b.outputs());
}

mpc_status_t check_entry_roles(const schema::Variant& variant) {
  const auto& entries = *variant.entries();
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const schema::Entry& entry = *entries.Get(i);
    const std::string where = "entry '" + entry.name()->str() + "'";
    if (entry.role() > EntryRole::MAX) return damaged_role(where, kUnknownRole);
    const EntryRole role = role_of(entry);
    if (role != EntryRole::None &&
        find_entry(variant, role, entry.other_batch()) != static_cast<int>(i))
      return damaged_role(where, "another has its role");
  }
  return nullptr;
}

mpc_status_t check_other_batches(const schema::Variant& variant) {
  for (const schema::Entry* entry : *variant.entries()) {
    if (entry->other_batch() == 0) continue;
    const EntryRole role = role_of(*entry);
    const int own = find_entry(variant, role);
    if (role == EntryRole::None || role == EntryRole::Derive ||
        role == EntryRole::Initialize || own < 0 ||
        !differ_in_size_only(
            *entry, *variant.entries()->Get(static_cast<uint32_t>(own))))
      return damaged_role("entry '" + entry->name()->str() + "'",
                          "is no other batch size of an entry");
  }
  return nullptr;
}

int find_entry(const schema::Variant& variant, EntryRole role,
               uint64_t other_batch) {
  const auto& entries = *variant.entries();
  for (uint32_t i = 0; i < entries.size(); ++i)
    if (role_of(*entries.Get(i)) == role &&
        entries.Get(i)->other_batch() == other_batch)
      return static_cast<int>(i);
  return -1;
}

uint64_t batch_size_of(const schema::Entry& entry) {
  if (entry.inputs())
    for (const schema::Binding* input : *entry.inputs())
      if (input->batch_dim() >= 0)
        return static_cast<uint64_t>(input->buffer()->shape()->Get(
            static_cast<uint32_t>(input->batch_dim())));
  return 0;
}

bool is_part_of_loss(const schema::Binding& output) {
  constexpr std::string_view kPrefix = "sample_loss:";
  return output.name()->string_view().substr(0, kPrefix.size()) == kPrefix;
}

const StateTensor* find_tensor(const mpc_program_t& program, StateRole role) {
  for (const StateTensor& tensor : program.tensors)
    if (tensor.role == role) return &tensor;
  return nullptr;
}

const StateTensor* owner_of(const mpc_program_t& program,
                            const StateTensor& tensor) {
  const schema::State& state = *program.root->states()->Get(tensor.state);
  std::string name = tensor.name;
  if (is_pending(tensor.role)) {
    // A state without slots is one tensor, with the name of the state.
    name = state.of() >= 0 ? program.root->states()
                                 ->Get(static_cast<uint32_t>(state.of()))
                                 ->name()
                                 ->str()
                           : name.substr(kPending.size());
  } else {
    const size_t prefix = state.name()->size() + 1;
    if (state.kind() != StateKind::Optimizer || name.size() <= prefix ||
        state.own_names())
      return nullptr;
    name = name.substr(prefix);
  }
  int64_t index = program.find_tensor(name.c_str());
  return index < 0 ? nullptr : &program.tensors[static_cast<size_t>(index)];
}

const StateTensor* belonging_to(const mpc_program_t& program,
                                const StateTensor& weight, StateRole role) {
  if (!program.root->states()) return nullptr;
  for (const schema::State* state : *program.root->states()) {
    if (role_of(*state) != role) continue;
    int64_t index =
        program.find_tensor((state->name()->str() + '/' + weight.name).c_str());
    if (index >= 0) return &program.tensors[static_cast<size_t>(index)];
  }
  return nullptr;
}

std::string usual_name(const std::string& name) {
  constexpr std::string_view kPrefix = "mpc.";
  size_t begin = 0;
  while (name.compare(begin, kPrefix.size(), kPrefix) == 0)
    begin += kPrefix.size();
  return name.substr(begin);
}

}  // namespace mpc::runtime
