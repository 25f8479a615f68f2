// Helpers that look up names, shapes and state tensors in a program's tables.

#include <cstring>

#include "kernels/kernel.h"
#include "runtime/src/base/number.h"
#include "runtime/src/program/program.h"
#include "runtime/src/program/roles.h"

namespace mpc::runtime {

const int64_t* extents_of(const Shape* shape) {
  static constexpr int64_t kNone[1] = {0};  // Never null, even for rank 0.
  return shape && shape->size() > 0 ? shape->data() : kNone;
}

uint64_t count_of(const Shape* shape) {
  uint64_t count = 0;
  (void)count_elements(extents_of(shape), rank_of(shape), &count);
  return count;
}

bool is_mean_over_ranks(const schema::Instruction& instruction) {
  return instruction.function() < 0 &&
         static_cast<kernels::KernelId>(instruction.kernel()) ==
             kernels::KernelId::mean_over_ranks;
}

uint64_t bytes_of(const schema::Buffer& buffer) {
  return count_of(buffer.shape()) * mpc_dtype_size(dtype_of(buffer.dtype()));
}

uint64_t bytes_of(const schema::State& state) {
  return count_of(state.shape()) * mpc_dtype_size(dtype_of(state.dtype()));
}

std::string type_text(mpc_dtype_t dtype, const int64_t* shape, size_t rank) {
  std::string text = mpc_dtype_name(dtype);
  text += '[';
  for (size_t i = 0; i < rank; ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  return text + ']';
}

Span find_segment(const schema::Program& root, const uint8_t* file,
                  schema::SegmentKind kind, std::string_view target) {
  if (!root.segments()) return {};
  for (const schema::Segment* segment : *root.segments()) {
    auto its = segment->target() ? segment->target()->string_view() : "";
    if (segment->kind() == kind && its == target)
      return {file + segment->offset(), segment->size()};
  }
  return {};
}

const schema::Variant* find_variant(const schema::Program& root,
                                    std::string_view device) {
  for (const schema::Variant* variant : *root.variants())
    if (variant->device()->string_view() == device) return variant;
  return nullptr;
}

int find_entry(const schema::Variant& variant, const char* name) {
  if (!variant.entries()) return -1;
  for (uint32_t i = 0; i < variant.entries()->size(); ++i)
    if (variant.entries()->Get(i)->name()->string_view() == name)
      return static_cast<int>(i);
  return -1;
}

int find_binding(const Bindings* bindings, const char* name) {
  if (!bindings) return -1;
  for (uint32_t i = 0; i < bindings->size(); ++i)
    if (bindings->Get(i)->name()->string_view() == name)
      return static_cast<int>(i);
  return -1;
}

// Whether the tensors of a state are called like their slots. Weights keep
// their ONNX names; the names of other slots get the name of their state as a
// prefix.
static bool slots_have_own_names(const schema::State& state) {
  const schema::StateKind kind = state.kind();
  return state.own_names() || kind == schema::StateKind::Parameter ||
         kind == schema::StateKind::Statistic ||
         kind == schema::StateKind::Constant;
}

static StateTensor tensor_of_state(const schema::State& state, uint32_t index) {
  StateTensor tensor;
  tensor.name = state.name()->str();
  tensor.state = index;
  tensor.kind = state.kind();
  tensor.role = role_of(state);
  tensor.dtype = dtype_of(state.dtype());
  tensor.rank = rank_of(state.shape());
  tensor.shape = extents_of(state.shape());
  tensor.offset = state.offset();
  tensor.count = count_of(state.shape());
  tensor.bytes = tensor.count * mpc_dtype_size(tensor.dtype);
  return tensor;
}

static StateTensor tensor_of_slot(const schema::State& state, uint32_t index,
                                  const schema::Slot& slot) {
  StateTensor tensor = tensor_of_state(state, index);
  tensor.name = slots_have_own_names(state)
                    ? slot.name()->str()
                    : tensor.name + '/' + slot.name()->str();
  tensor.rank = rank_of(slot.shape());
  tensor.shape = extents_of(slot.shape());
  tensor.offset += slot.offset() * mpc_dtype_size(tensor.dtype);
  tensor.count = count_of(slot.shape());
  tensor.bytes = tensor.count * mpc_dtype_size(tensor.dtype);
  return tensor;
}

mpc_status_t list_state_tensors(const schema::Program& root,
                                std::vector<StateTensor>* out_tensors) {
  out_tensors->clear();
  if (!root.states()) return nullptr;
  for (uint32_t i = 0; i < root.states()->size(); ++i) {
    if (root.states()->Get(i)->kind() == schema::StateKind::Derived) continue;
    const schema::State& state = *root.states()->Get(i);
    if (!state.slots() || state.slots()->size() == 0) {
      out_tensors->push_back(tensor_of_state(state, i));
      continue;
    }
    for (const schema::Slot* slot : *state.slots())
      out_tensors->push_back(tensor_of_slot(state, i, *slot));
  }
  return nullptr;
}

}  // namespace mpc::runtime
