// Checks every offset, index and count of a package once, so that later code
// need not.

#include <algorithm>
#include <cinttypes>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/observation.h"
#include "runtime/src/base/number.h"
#include "runtime/src/device/driver.h"
#include "runtime/src/program/program.h"
#include "runtime/src/program/roles.h"

namespace mpc::runtime {

using schema::EntryRole;

namespace {

using Text = const char*;

// The maximum number of segments, of entry points, and of inputs of an entry
// point, which are searched linearly.
constexpr uint32_t kMaxListed = 4096;

// The maximum number of outputs. The entry point `probe` for `mpc compare` has
// one for each value.
constexpr uint32_t kMaxOutputs = 1 << 20;

mpc_status_t damaged(const std::string& where, Text what) {
  return mpc_status_make(MPC_DAMAGED, "the package is inconsistent: %s: %s",
                         where.c_str(), what);
}

// Whether [offset, offset + size) lies in [0, limit).
bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  uint64_t end;
  return add_sizes(offset, size, &end) && end <= limit;
}

// A range of bytes that must be disjoint from its siblings.
struct Range {
  uint64_t begin, end;
  std::string name;
};

mpc_status_t check_disjoint(std::vector<Range> ranges, Text what) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      return damaged(ranges[i].name, what);
  return nullptr;
}

// Whether a name can be used in checkpoints and messages.
bool is_name(const flatbuffers::String* name) {
  return name && name->size() > 0 && is_utf8(name->c_str(), name->size()) &&
         name->string_view().find('\0') == std::string_view::npos;
}

// The safetensors format reserves one name.
constexpr char kNotStorable[] = "its name is reserved by the checkpoint format";
bool is_storable(const flatbuffers::String* name) {
  return name->string_view() != "__metadata__";
}

bool is_dtype(schema::DType dtype) {
  return mpc_dtype_size(dtype_of(dtype)) != 0;
}

// FP8 is allowed only for values inside entry points: nothing outside knows the
// scale.
bool is_fp8(schema::DType dtype) { return mpc_dtype_is_fp8(dtype_of(dtype)); }

// FlatBuffers checks the alignment of a vector but not of its elements, and its
// writer does not align empty vectors.
bool is_aligned(const flatbuffers::Vector<int64_t>* numbers) {
  return !numbers || numbers->size() == 0 ||
         reinterpret_cast<uintptr_t>(numbers->Data()) % alignof(int64_t) == 0;
}

// The number of elements of a shape; false if the shape is invalid.
bool measure_shape(const Shape* shape, uint64_t* count) {
  constexpr uint32_t kMaxDimensions = 64;
  return is_aligned(shape) && rank_of(shape) <= kMaxDimensions &&
         count_elements(extents_of(shape), rank_of(shape), count);
}

// The numbers of elements and bytes of a tensor; false if its type or shape is
// invalid.
bool measure(schema::DType dtype, const Shape* shape, uint64_t* count,
             uint64_t* bytes) {
  return is_dtype(dtype) && measure_shape(shape, count) &&
         multiply_sizes(*count, mpc_dtype_size(dtype_of(dtype)), bytes);
}

class Checker {
 public:
  Checker(const schema::Program& root, const uint8_t* file, uint64_t size)
      : root_(root), file_(file), size_(size) {}

  mpc_status_t run() {
    MPC_RETURN_IF_ERROR(check_segments());
    MPC_RETURN_IF_ERROR(check_states());
    MPC_RETURN_IF_ERROR(check_copies());
    MPC_RETURN_IF_ERROR(check_state_roles(root_));
    MPC_RETURN_IF_ERROR(check_variants());
    return obstacle_.release();
  }

 private:
  // Notes a reason why this runtime or machine cannot run the package. The
  // checks continue, because `mpc inspect` shows such packages; the first
  // reason is reported at the end.
  void note_obstacle(mpc_status_t status) {
    Status owned(status);
    if (!obstacle_) obstacle_ = std::move(owned);
  }

  mpc_status_t check_segments();
  mpc_status_t check_states();
  mpc_status_t check_state(const schema::State& state);
  mpc_status_t check_slots(const schema::State& state, uint64_t elements);
  mpc_status_t check_copies();
  mpc_status_t check_variants();
  mpc_status_t check_variant();
  mpc_status_t check_same_signatures(const schema::Entry& entry,
                                     const schema::Entry& other);
  mpc_status_t check_functions();
  mpc_status_t check_entries();
  mpc_status_t check_derive();
  mpc_status_t check_observed();
  mpc_status_t check_entry(const schema::Entry& entry);
  mpc_status_t check_initialize(const schema::Entry& entry,
                                const std::string& where);
  mpc_status_t check_bindings(const Bindings* bindings, bool inputs,
                              const std::string& where);
  mpc_status_t check_observations(const schema::Entry& entry,
                                  const std::string& where);
  mpc_status_t check_instruction(const schema::Instruction& instruction,
                                 const std::string& where);
  mpc_status_t check_buffer(const schema::Buffer& buffer, uint64_t alignment,
                            const std::string& where);
  mpc_status_t check_items(const schema::Instruction& instruction,
                           const std::string& where);
  mpc_status_t check_catalog_call(const schema::Instruction& instruction,
                                  const std::string& where);

  uint32_t num_functions() const {
    return variant_->functions() ? variant_->functions()->size() : 0;
  }
  // The driver of the current variant; null if this runtime has no such kind of
  // device.
  const DeviceDriver* driver() const {
    const DeviceKind* kind =
        find_device_kind(variant_->device()->string_view());
    return kind ? kind->driver : nullptr;
  }
  bool has_blocks() const { return driver() && driver()->has_blocks; }

  const schema::Program& root_;
  struct StatusDeleter {
    void operator()(mpc_status_t status) const { mpc_status_free(status); }
  };
  using Status =
      std::unique_ptr<std::remove_pointer_t<mpc_status_t>, StatusDeleter>;
  Status obstacle_;
  const schema::Variant* variant_ = nullptr;  // The one being checked.
  const uint8_t* const file_;
  const uint64_t size_;
};

mpc_status_t Checker::check_segments() {
  if (!root_.segments()) return nullptr;
  if (root_.segments()->size() > kMaxListed)
    return damaged("segments", "there are too many");
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < root_.segments()->size(); ++i) {
    const schema::Segment& segment = *root_.segments()->Get(i);
    std::string where = "segment " + std::to_string(i);
    if (segment.offset() % kAlignment != 0)
      return damaged(where, "does not start at a multiple of 64");
    if (!fits(segment.offset(), segment.size(), size_))
      return damaged(where, "lies outside the file");
    ranges.push_back(
        {segment.offset(), segment.offset() + segment.size(), where});
  }
  MPC_RETURN_IF_ERROR(
      check_disjoint(std::move(ranges), "overlaps another segment"));

  std::vector<std::tuple<schema::SegmentKind, std::string, std::string>> seen;
  for (uint32_t i = 0; i < root_.segments()->size(); ++i) {
    const schema::Segment& segment = *root_.segments()->Get(i);
    std::string where = "segment " + std::to_string(i);
    if (checksum(file_ + segment.offset(), segment.size()) !=
        segment.checksum())
      return damaged(where, "its checksum is wrong");
    std::string target = segment.target() ? segment.target()->str() : "";
    std::string form = segment.form() ? segment.form()->str() : "";
    auto key = std::make_tuple(segment.kind(), target, form);
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      return damaged(where, "there is another of its kind");
    seen.push_back(key);
  }
  return nullptr;
}

mpc_status_t Checker::check_states() {
  // Well below the maximum, so that sums of a few sizes cannot overflow later.
  if (root_.state_size() > UINT64_MAX / 4)
    return damaged("memory", "the size of the states is invalid");
  if (!root_.states()) return nullptr;
  std::vector<Range> ranges;
  std::vector<std::string_view> names;
  for (const schema::State* state : *root_.states()) {
    MPC_RETURN_IF_ERROR(check_state(*state));
    uint64_t bytes =
        count_of(state->shape()) * mpc_dtype_size(dtype_of(state->dtype()));
    ranges.push_back({state->offset(), state->offset() + bytes,
                      "state '" + state->name()->str() + "'"});
    names.push_back(state->name()->string_view());
  }
  std::sort(names.begin(), names.end());
  auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end())
    return damaged("state '" + std::string(*twin) + "'", "occurs twice");
  return check_disjoint(std::move(ranges), "overlaps another state");
}

mpc_status_t Checker::check_state(const schema::State& state) {
  if (!is_name(state.name())) return damaged("states", "a name is not text");
  std::string where = "state '" + state.name()->str() + "'";
  if (!is_storable(state.name())) return damaged(where, kNotStorable);
  if (state.kind() > schema::StateKind::MAX)
    return damaged(where, "its kind is unknown");
  uint64_t count, bytes;
  bool is_derived = state.kind() == schema::StateKind::Derived;
  if (!measure(state.dtype(), state.shape(), &count, &bytes) ||
      (is_fp8(state.dtype()) && !is_derived))
    return damaged(where, "its type or shape is invalid");
  if (is_derived && (state.initial_size() != 0 ||
                     (state.slots() && state.slots()->size() > 0)))
    return damaged(where, "'derive' makes it, as one tensor");
  if (state.offset() % kAlignment != 0)
    return damaged(where, "does not start at a multiple of 64");
  if (!fits(state.offset(), bytes, root_.state_size()))
    return damaged(where, "lies outside the state memory");
  Span initial = find_segment(root_, file_, schema::SegmentKind::States);
  if (state.initial_size() != 0 &&
      (state.initial_size() != bytes ||
       !fits(state.initial_offset(), bytes, initial.size)))
    return damaged(where, "its initial value is not in the file");
  return check_slots(state, count);
}

mpc_status_t Checker::check_slots(const schema::State& state,
                                  uint64_t elements) {
  if (!state.slots()) return nullptr;
  std::vector<Range> ranges;
  for (const schema::Slot* slot : *state.slots()) {
    if (!is_name(slot->name()))
      return damaged("state '" + state.name()->str() + "'",
                     "a slot's name is not text");
    std::string where = "slot '" + slot->name()->str() + "' of state '" +
                        state.name()->str() + "'";
    if (!is_storable(slot->name())) return damaged(where, kNotStorable);
    uint64_t count;
    if (!measure_shape(slot->shape(), &count) ||
        !fits(slot->offset(), count, elements))
      return damaged(where, "lies outside the state");
    ranges.push_back({slot->offset(), slot->offset() + count, where});
  }
  return check_disjoint(std::move(ranges), "overlaps another slot");
}

// A working copy must be the 16-bit copy of a parameter state, or of a constant
// that is read in both types, with the same number of elements.
mpc_status_t Checker::check_copies() {
  if (!root_.states()) return nullptr;
  for (const schema::State* state : *root_.states()) {
    std::string where = "state '" + state->name()->str() + "'";
    bool is_copy = state->kind() == schema::StateKind::WorkingCopy;
    if (!is_copy && state->copy_of() == -1) continue;
    if (!is_copy)
      return damaged(where, "only a working copy can be a copy of a state");
    if (state->copy_of() < 0 ||
        static_cast<uint32_t>(state->copy_of()) >= root_.states()->size())
      return damaged(where, "it is not the copy of a state");
    const schema::State& source =
        *root_.states()->Get(static_cast<uint32_t>(state->copy_of()));
    bool widths = (source.dtype() == schema::DType::F32 ||
                   source.dtype() == schema::DType::F64) &&
                  (state->dtype() == schema::DType::F16 ||
                   state->dtype() == schema::DType::BF16);
    bool is_weight = source.kind() == schema::StateKind::Parameter ||
                     source.kind() == schema::StateKind::Constant;
    if (!is_weight || !widths ||
        count_of(source.shape()) != count_of(state->shape()))
      return damaged(where, "it cannot be the 16-bit copy of its state");
  }
  return nullptr;
}

mpc_status_t Checker::check_variants() {
  const auto& variants = *root_.variants();
  if (variants.size() == 0) return damaged("variants", "there are none");
  if (variants.size() > kMaxListed)
    return damaged("variants", "there are too many");
  for (uint32_t i = 0; i < variants.size(); ++i) {
    variant_ = variants.Get(i);
    if (!is_name(variant_->device()))
      return damaged("variants", "the name of a device is not text");
    if (find_variant(root_, variant_->device()->string_view()) != variant_)
      return damaged("variants", "a device occurs twice");
    MPC_RETURN_IF_ERROR(check_variant());
  }
  // A program for one kind of device must be able to run on this machine.
  if (variants.size() == 1 && driver() && driver()->check_machine)
    note_obstacle(driver()->check_machine(*variant_));
  return nullptr;
}

mpc_status_t Checker::check_variant() {
  if (variant_->arena_size() > UINT64_MAX / 4)
    return damaged("memory", "the size of the arena is invalid");
  MPC_RETURN_IF_ERROR(check_functions());
  MPC_RETURN_IF_ERROR(check_entries());
  const auto& entries = *variant_->entries();
  const auto& others = *first_variant(root_).entries();
  if (entries.size() != others.size())
    return damaged("variants", "they have different entry points");
  for (uint32_t i = 0; i < entries.size(); ++i)
    MPC_RETURN_IF_ERROR(check_same_signatures(*entries.Get(i), *others.Get(i)));
  return nullptr;
}

// Whether two bindings look the same to the caller.
bool is_same(const schema::Binding& a, const schema::Binding& b) {
  const schema::Buffer &x = *a.buffer(), &y = *b.buffer();
  return a.name()->string_view() == b.name()->string_view() &&
         x.dtype() == y.dtype() && rank_of(x.shape()) == rank_of(y.shape()) &&
         std::equal(extents_of(x.shape()),
                    extents_of(x.shape()) + rank_of(x.shape()),
                    extents_of(y.shape())) &&
         a.has_range() == b.has_range() && a.low() == b.low() &&
         a.high() == b.high() && a.has_ignored() == b.has_ignored() &&
         a.ignored() == b.ignored() && a.batch_dim() == b.batch_dim();
}

bool are_same(const Bindings* a, const Bindings* b) {
  uint32_t size = a ? a->size() : 0;
  if (size != (b ? b->size() : 0)) return false;
  for (uint32_t i = 0; i < size; ++i)
    if (!is_same(*a->Get(i), *b->Get(i))) return false;
  return true;
}

mpc_status_t Checker::check_same_signatures(const schema::Entry& entry,
                                            const schema::Entry& other) {
  if (entry.name()->string_view() != other.name()->string_view() ||
      !are_same(entry.inputs(), other.inputs()) ||
      !are_same(entry.outputs(), other.outputs()))
    return damaged("entry '" + entry.name()->str() + "'",
                   "is not the same for all devices");
  return nullptr;
}

mpc_status_t Checker::check_functions() {
  for (uint32_t i = 0; i < num_functions(); ++i)
    if (!is_name(variant_->functions()->Get(i)->symbol()))
      return damaged("function " + std::to_string(i), "its symbol is not text");
  if (driver() && driver()->check_code)
    note_obstacle(driver()->check_code(root_, file_, *variant_));
  return nullptr;
}

mpc_status_t Checker::check_entries() {
  if (root_.accumulate() == 0)
    return damaged("accumulate", "an update needs at least one micro-batch");
  if (!variant_->entries()) return damaged("entries", "there are none");
  if (variant_->entries()->size() > kMaxListed)
    return damaged("entries", "there are too many");
  std::vector<std::string_view> names;
  for (const schema::Entry* entry : *variant_->entries()) {
    if (!is_name(entry->name()))
      return damaged("entries", "a name is not text");
    names.push_back(entry->name()->string_view());
  }
  std::sort(names.begin(), names.end());
  auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end())
    return damaged("entry '" + std::string(*twin) + "'", "occurs twice");
  MPC_RETURN_IF_ERROR(check_entry_roles(*variant_));
  for (const schema::Entry* entry : *variant_->entries())
    MPC_RETURN_IF_ERROR(check_entry(*entry));
  MPC_RETURN_IF_ERROR(check_other_batches(*variant_));
  auto has = [&](EntryRole role) { return find_entry(*variant_, role) >= 0; };
  if (has(EntryRole::Accumulate) != has(EntryRole::Apply))
    return damaged("entries", "'accumulate' and 'apply' need each other");
  if (has(EntryRole::Forward) != has(EntryRole::Backward))
    return damaged("entries", "'forward' and 'backward' need each other");
  MPC_RETURN_IF_ERROR(check_derive());
  return check_observed();
}

// Sessions run `derive` on their own, so it must have no inputs and no outputs.
mpc_status_t Checker::check_derive() {
  bool has_states = false;
  if (root_.states())
    for (const schema::State* state : *root_.states())
      has_states |= role_of(*state) == schema::StateRole::Derived;
  int derive = find_entry(*variant_, EntryRole::Derive);
  if (has_states != (derive >= 0))
    return damaged("entries", "'derive' and derived states need each other");
  if (derive < 0) return nullptr;
  const schema::Entry& entry =
      *variant_->entries()->Get(static_cast<uint32_t>(derive));
  auto is_none = [](const Bindings* bindings) {
    return !bindings || bindings->size() == 0;
  };
  if (!is_none(entry.inputs()) || !is_none(entry.outputs()))
    return damaged("entry 'derive'", "must have no inputs and no outputs");
  return nullptr;
}

// Sessions run `observe` on the inputs of a step, so both must have the same.
mpc_status_t Checker::check_observed() {
  const auto& entries = *variant_->entries();
  for (const schema::Entry* observe : entries) {
    if (role_of(*observe) != EntryRole::Observe) continue;
    const uint64_t batch = observe->other_batch();
    int step = find_entry(*variant_, EntryRole::Step, batch);
    if (step < 0) step = find_entry(*variant_, EntryRole::Accumulate, batch);
    if (step < 0 ||
        !are_same(observe->inputs(),
                  entries.Get(static_cast<uint32_t>(step))->inputs()))
      return damaged("entry '" + observe->name()->str() + "'",
                     "has other inputs than the step");
  }
  return nullptr;
}

// An output that sessions interpret.
struct Output {
  EntryRole entry;
  const char* name;
  bool is_flag;  // bool, otherwise f32 or f64.
  uint32_t rank;
  bool required;
};
constexpr Output kOutputs[] = {
    {EntryRole::Step, "loss", false, 0, true},
    {EntryRole::Step, "grad_norm", false, 0, false},
    {EntryRole::Step, "learning_rate", false, 0, false},
    {EntryRole::Step, "finite", true, 0, false},
    {EntryRole::Step, "update_finite", true, 0, false},
    {EntryRole::Accumulate, "loss", false, 0, true},
    {EntryRole::Accumulate, "finite", true, 0, false},
    {EntryRole::Apply, "loss", false, 0, false},
    {EntryRole::Apply, "grad_norm", false, 0, false},
    {EntryRole::Apply, "learning_rate", false, 0, false},
    {EntryRole::Apply, "finite", true, 0, false},
    {EntryRole::Apply, "update_finite", true, 0, false},
    {EntryRole::Evaluate, "loss", false, 0, false},
    {EntryRole::Evaluate, "sample_loss", false, 1, false},
    {EntryRole::Evaluate, "sample_weight", false, 1, false},
    {EntryRole::Evaluate, "sample_correct", false, 1, false},
    {EntryRole::Evaluate, "sample_counted", false, 1, false},
};

mpc_status_t check_outputs(const schema::Program& root,
                           const schema::Entry& entry,
                           const std::string& where) {
  int64_t samples = -1;
  for (const Output& output : kOutputs) {
    if (role_of(entry) != output.entry) continue;
    std::string there = where + ": output '" + output.name + "'";
    int index = find_binding(entry.outputs(), output.name);
    bool is_needed =
        output.required ||
        (output.name == std::string_view("finite") &&
         output.entry != EntryRole::Accumulate && root.loss_scaling());
    if (index < 0) {
      if (is_needed) return damaged(there, "is missing");
      continue;
    }
    const schema::Buffer& buffer =
        *entry.outputs()->Get(static_cast<uint32_t>(index))->buffer();
    bool right = output.is_flag ? buffer.dtype() == schema::DType::Bool
                                : buffer.dtype() == schema::DType::F32 ||
                                      buffer.dtype() == schema::DType::F64;
    if (!right || rank_of(buffer.shape()) != output.rank)
      return damaged(there, "has the wrong type");
    if (output.rank == 0) continue;
    int64_t extent = buffer.shape()->Get(0);
    if (samples >= 0 && extent != samples)
      return damaged(there,
                     "has a different number of samples than the others");
    samples = extent;
  }
  if (role_of(entry) != EntryRole::Evaluate) return nullptr;
  for (uint32_t i = 0; entry.outputs() && i < entry.outputs()->size(); ++i) {
    const schema::Binding& output = *entry.outputs()->Get(i);
    const schema::Buffer& buffer = *output.buffer();
    if (is_part_of_loss(output) &&
        (rank_of(buffer.shape()) != 1 || buffer.shape()->Get(0) != samples ||
         (buffer.dtype() != schema::DType::F32 &&
          buffer.dtype() != schema::DType::F64)))
      return damaged(where + ": output '" + output.name()->str() + "'",
                     "has the wrong type");
  }
  bool by_sample = find_binding(entry.outputs(), "sample_loss") >= 0;
  if (by_sample != (find_binding(entry.outputs(), "sample_weight") >= 0) ||
      (!by_sample && find_binding(entry.outputs(), "loss") < 0))
    return damaged(where, "has no loss");
  return nullptr;
}

// Sessions write the outputs of `initialize` to the states of the same names.
mpc_status_t Checker::check_initialize(const schema::Entry& entry,
                                       const std::string& where) {
  if (entry.inputs() && entry.inputs()->size() > 0)
    return damaged(where, "must have no inputs");
  if (!entry.outputs()) return damaged(where, "must have outputs");
  std::vector<StateTensor> tensors;
  MPC_RETURN_IF_ERROR(list_state_tensors(root_, &tensors));
  auto is_state = [&](const schema::Binding& binding) {
    const schema::Buffer& buffer = *binding.buffer();
    return std::any_of(
        tensors.begin(), tensors.end(), [&](const StateTensor& tensor) {
          return tensor.name == binding.name()->string_view() &&
                 tensor.kind != schema::StateKind::WorkingCopy &&
                 tensor.dtype == dtype_of(buffer.dtype()) &&
                 tensor.rank == rank_of(buffer.shape()) &&
                 std::equal(tensor.shape, tensor.shape + tensor.rank,
                            extents_of(buffer.shape()));
        });
  };
  for (const schema::Binding* binding : *entry.outputs())
    if (!is_state(*binding))
      return damaged(where + ": output '" + binding->name()->str() + "'",
                     "is not a state of its type");
  return nullptr;
}

mpc_status_t Checker::check_entry(const schema::Entry& entry) {
  std::string where = "entry '" + entry.name()->str() + "'";
  MPC_RETURN_IF_ERROR(check_bindings(entry.inputs(), true, where));
  MPC_RETURN_IF_ERROR(check_bindings(entry.outputs(), false, where));
  if (role_of(entry) == EntryRole::Initialize)
    MPC_RETURN_IF_ERROR(check_initialize(entry, where));
  MPC_RETURN_IF_ERROR(check_outputs(root_, entry, where));
  if (role_of(entry) == EntryRole::Observe)
    MPC_RETURN_IF_ERROR(check_observations(entry, where));
  const uint32_t count =
      entry.instructions() ? entry.instructions()->size() : 0;
  if (entry.reads_only() > count)
    return damaged(where,
                   "counts more instructions that only read than it has");
  for (uint32_t i = 0; i < count; ++i) {
    const schema::Instruction& instruction = *entry.instructions()->Get(i);
    std::string there = where + ", instruction " + std::to_string(i);
    if (instruction.name() && instruction.name()->size() > 0)
      there += " ('" + instruction.name()->str() + "')";
    MPC_RETURN_IF_ERROR(check_instruction(instruction, there));
  }
  return nullptr;
}

// Whether an output is an f64 tensor [rows, width]; it may be missing if `rows`
// is 0.
bool is_table(const schema::Entry& entry, const char* name, uint64_t rows,
              int64_t width) {
  int index = find_binding(entry.outputs(), name);
  if (index < 0) return rows == 0;
  const schema::Buffer& buffer =
      *entry.outputs()->Get(static_cast<uint32_t>(index))->buffer();
  return buffer.dtype() == schema::DType::F64 && rank_of(buffer.shape()) == 2 &&
         static_cast<uint64_t>(buffer.shape()->Get(0)) == rows &&
         buffer.shape()->Get(1) == width;
}

// Whether row numbers are strictly increasing and below `end`.
bool are_rows(const flatbuffers::Vector<int64_t>* rows, uint64_t end) {
  if (!is_aligned(rows)) return false;
  if (!rows) return true;
  int64_t before = -1;
  for (int64_t row : *rows) {
    if (row <= before || static_cast<uint64_t>(row) >= end) return false;
    before = row;
  }
  return true;
}

// Checks what diagnosis relies on: output tables with a row for each
// observation, and observations that only read earlier ones.
mpc_status_t Checker::check_observations(const schema::Entry& entry,
                                         const std::string& where) {
  const auto* rows = entry.observations();
  const uint32_t count = rows ? rows->size() : 0;
  if (count == 0) return damaged(where, "observes nothing");
  int64_t roundings = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const schema::Observation& row = *rows->Get(i);
    std::string there = where + ", observation " + std::to_string(i);
    uint64_t elements, bytes;
    if (!is_name(row.name())) return damaged(there, "its name is not text");
    if (row.kind() > schema::ObservationKind::MAX)
      return damaged(there, "its kind is unknown");
    if (!measure(row.dtype(), row.shape(), &elements, &bytes))
      return damaged(there, "its type or shape is invalid");
    if (!are_rows(row.reads(), i))
      return damaged(there, "reads rows that are not before it");
    if (row.rounding() < -1 || row.rounding() >= int64_t{count})
      return damaged(there, "its rounding does not exist");
    roundings = std::max(roundings, int64_t{row.rounding()} + 1);
  }
  if (!are_rows(entry.tested(), count))
    return damaged(where, "tests rows that do not exist");
  if (find_binding(entry.outputs(), "observations") < 0 ||
      !is_table(entry, "observations", count, kernels::kObservationWidth) ||
      !is_table(entry, "roundings", static_cast<uint64_t>(roundings),
                kernels::kRoundingWidth))
    return damaged(where, "its tables have other rows than it observes");
  return nullptr;
}

mpc_status_t Checker::check_bindings(const Bindings* bindings, bool inputs,
                                     const std::string& where) {
  if (!bindings) return nullptr;
  if (bindings->size() > (inputs ? kMaxListed : kMaxOutputs))
    return damaged(where, "it has too many inputs or outputs");
  std::vector<Range> ranges;
  std::unordered_set<std::string_view> names;
  for (uint32_t i = 0; i < bindings->size(); ++i) {
    const schema::Binding& binding = *bindings->Get(i);
    std::string there =
        where + (inputs ? ", input " : ", output ") + std::to_string(i);
    if (!is_name(binding.name())) return damaged(there, "its name is not text");
    const schema::Buffer& buffer = *binding.buffer();
    MPC_RETURN_IF_ERROR(check_buffer(buffer, 1, there));
    if (!names.insert(binding.name()->string_view()).second)
      return damaged(there, "another has its name");
    if (binding.batch_dim() < -1 ||
        (binding.batch_dim() >= 0 &&
         static_cast<uint32_t>(binding.batch_dim()) >= rank_of(buffer.shape())))
      return damaged(there, "its batch dimension does not exist");
    if (is_fp8(buffer.dtype()))
      return damaged(there, "its type has no meaning outside of functions");
    if (!inputs) continue;
    if (buffer.space() != schema::Space::Arena)
      return damaged(there, "does not lie in the arena");
    bool integer = buffer.dtype() == schema::DType::I64 ||
                   buffer.dtype() == schema::DType::I32 ||
                   buffer.dtype() == schema::DType::U8;
    if (binding.has_range() && !integer)
      return damaged(there, "has a range, but is not of an integer type");
    ranges.push_back(
        {buffer.offset(), buffer.offset() + bytes_of(buffer), there});
  }
  return check_disjoint(std::move(ranges), "overlaps another input");
}

mpc_status_t Checker::check_buffer(const schema::Buffer& buffer,
                                   uint64_t alignment,
                                   const std::string& where) {
  if (buffer.space() > schema::Space::MAX)
    return damaged(where, "its memory space is unknown");
  uint64_t count, bytes;
  if (!measure(buffer.dtype(), buffer.shape(), &count, &bytes))
    return damaged(where, "its type or shape is invalid");
  bool in_arena = buffer.space() == schema::Space::Arena;
  if (!fits(buffer.offset(), bytes,
            in_arena ? variant_->arena_size() : root_.state_size()))
    return damaged(where, in_arena ? "lies outside the arena"
                                   : "lies outside the state memory");
  alignment =
      std::max<uint64_t>(alignment, mpc_dtype_size(dtype_of(buffer.dtype())));
  if (buffer.offset() % alignment != 0)
    return damaged(where, "is not aligned as its use needs");
  return nullptr;
}

mpc_status_t Checker::check_instruction(const schema::Instruction& instruction,
                                        const std::string& where) {
  bool generated = instruction.function() != -1;
  if (generated == (instruction.kernel() != 0))
    return damaged(where, "is not exactly one of function and kernel");
  // The kernels copy and zero work on bytes of any alignment, such as the gaps
  // of packed tensors.
  auto kernel = static_cast<kernels::KernelId>(instruction.kernel());
  bool by_bytes =
      kernel == kernels::KernelId::copy || kernel == kernels::KernelId::zero;
  uint64_t alignment = generated  ? (has_blocks() ? kVectorAlignment : 1)
                       : by_bytes ? 1
                                  : kernels::kOperandAlignment;
  for (uint32_t i = 0; i < instruction.operands()->size(); ++i)
    MPC_RETURN_IF_ERROR(check_buffer(*instruction.operands()->Get(i), alignment,
                                     where + ", operand " + std::to_string(i)));
  if (!generated) return check_catalog_call(instruction, where);
  if (instruction.function() < 0 ||
      static_cast<uint32_t>(instruction.function()) >= num_functions())
    return damaged(where, "calls a function that does not exist");
  if (instruction.items() > static_cast<uint64_t>(INT64_MAX) ||
      instruction.grain() == 0)
    return damaged(where, "its number of items is invalid");
  if (instruction.results() > instruction.operands()->size())
    return damaged(where, "it has more results than operands");
  if (instruction.item_elements())
    MPC_RETURN_IF_ERROR(check_items(instruction, where));
  if (!has_blocks()) return nullptr;
  constexpr uint32_t kMaxThreads = 1024;
  constexpr uint64_t kMaxBlocks = INT32_MAX;
  constexpr uint32_t kMaxSharedBytes = 1 << 20;
  if (instruction.threads() == 0 || instruction.threads() > kMaxThreads ||
      instruction.items() == 0 || instruction.items() > kMaxBlocks ||
      instruction.shared_bytes() > kMaxSharedBytes)
    return damaged(where, "its grid is invalid");
  return nullptr;
}

mpc_status_t Checker::check_items(const schema::Instruction& instruction,
                                  const std::string& where) {
  const auto& operands = *instruction.operands();
  const auto& elements = *instruction.item_elements();
  if (!is_aligned(&elements) || elements.size() != operands.size())
    return damaged(where, "its items do not divide each operand");
  for (uint32_t i = 0; i < elements.size(); ++i) {
    const uint64_t all = count_of(operands.Get(i)->shape());
    const int64_t each = elements.Get(i);
    if (each == 0 && i + instruction.results() < operands.size()) continue;
    const uint64_t n = static_cast<uint64_t>(each);
    if (each <= 0 || all / n + (all % n != 0) != instruction.items())
      return damaged(where, "its items do not divide an operand");
  }
  return nullptr;
}

// Attributes are checked when the kernel is prepared.
mpc_status_t Checker::check_catalog_call(const schema::Instruction& instruction,
                                         const std::string& where) {
  struct Arity {
    uint32_t id, operands;
  };
  static constexpr Arity kCatalog[] = {
#define MPC_KERNEL(name, id, inputs, outputs, attributes) \
  {id, (inputs) + (outputs)},
#include "kernels/catalog.def"
  };
  if (!is_aligned(instruction.attributes()))
    return damaged(where, "its attributes are not aligned");
  for (const Arity& kernel : kCatalog) {
    if (kernel.id != instruction.kernel()) continue;
    if (instruction.operands()->size() != kernel.operands)
      return damaged(where, "has the wrong number of operands");
    return nullptr;
  }
  note_obstacle(
      mpc_status_make(MPC_INCOMPATIBLE,
                      "%s: kernel %u is not in this runtime's catalog; use the "
                      "runtime of the compiler's version",
                      where.c_str(), instruction.kernel()));
  return nullptr;
}

}  // namespace

mpc_status_t verify_program(const schema::Program& root, const uint8_t* file,
                            uint64_t size) {
  return Checker(root, file, size).run();
}

}  // namespace mpc::runtime
