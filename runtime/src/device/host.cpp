// Implements host devices: states and arena in process memory, a team of
// threads, and calls in a flat array.

#include "runtime/src/device/host.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/team/team.h"
#include "kernels/kernel.h"
#include "runtime/src/device/code.h"
#include "runtime/src/device/cpu/cpu_count.h"
#include "runtime/src/device/default_floats.h"
#include "runtime/src/device/direct_outputs.h"
#include "runtime/src/device/kernel_call.h"
#include "runtime/src/device/threads.h"

namespace mpc::runtime {

namespace {

// A prepared instruction. Exactly one of `function` and `kernel` is set.
struct Call {
  GeneratedFunction function = nullptr;
  const kernels::Kernel* kernel = nullptr;
  void* const* operands = nullptr;
  int64_t items = 0;
  int threads = 1;
  const schema::Buffer* mean = nullptr;  // The result of mean_over_ranks.
};

// Runs the items [begin, end) of the ranges, counted one after the other.
void run_ranges(const Call& call, const ItemRanges& items, int64_t begin,
                int64_t end) {
  for (const ItemRanges::Range& range : items.ranges) {
    const int64_t count = range.end - range.begin;
    const int64_t from = std::max<int64_t>(0, begin);
    const int64_t to = std::min(count, end);
    if (from < to)
      call.function(call.operands, range.begin + from, range.begin + to);
    begin -= count;
    end -= count;
  }
}

void run_some(const Call& call, const ItemRanges& items) {
  int64_t count = 0;
  for (const ItemRanges::Range& range : items.ranges)
    count += range.end - range.begin;
  const int64_t worth = std::max<int64_t>(1, count * call.threads / call.items);
  kernels::parallel(static_cast<int>(std::min<int64_t>(worth, call.threads)),
                    [&](int part, int parts) {
                      DefaultFloats floats;
                      const kernels::Range mine =
                          kernels::share(count, part, parts);
                      run_ranges(call, items, mine.begin, mine.end);
                    });
}

void run_shared(const Call& call) {
  kernels::parallel(call.threads, [&](int part, int parts) {
    DefaultFloats floats;
    const kernels::Range mine = kernels::share(call.items, part, parts);
    if (mine.begin < mine.end)
      call.function(call.operands, mine.begin, mine.end);
  });
}

class HostExecutable : public Executable {
 public:
  HostExecutable(const Host& host, const mpc_program_t& program,
                 const schema::Variant& variant, uint8_t* states,
                 uint8_t* arena, Threads& threads, bool deterministic,
                 const std::string& code_folder)
      : host_(host),
        program_(program),
        variant_(variant),
        states_(states),
        arena_(arena),
        threads_(threads),
        context_{threads.count(), deterministic},
        code_folder_(code_folder) {}

  mpc_status_t prepare(const mpc_allocator_t& allocator);
  mpc_status_t submit(const Submission& submission) override;
  bool writes_outputs() const override { return true; }
  mpc_status_t wait(Values* out_values) override {
    *out_values = values_;
    return nullptr;
  }
  size_t depth() const override { return 0; }
  const std::string& note() const override { return note_; }
  // Never restores: steps are synchronous, so the caller still has the inputs.
  mpc_status_t restore_inputs(size_t, bool* out_restored) override {
    *out_restored = false;
    return nullptr;
  }
  mpc_status_t trace(uint32_t entry, Observer& observer) override;
  mpc_status_t set_profile(Profile* profile) override {
    profile_ = profile;
    return nullptr;
  }
  std::string implementation(uint32_t entry, size_t index) const override {
    const kernels::Kernel* kernel = calls_[entry][index].kernel;
    return kernel ? kernel->implementation() : "";
  }

 private:
  using Instructions =
      flatbuffers::Vector<flatbuffers::Offset<schema::Instruction>>;

  mpc_status_t find_functions();
  mpc_status_t prepare_entry(const schema::Entry& entry);
  mpc_status_t prepare_call(const schema::Instruction& instruction,
                            const schema::Entry& entry, Call* call);
  mpc_status_t make_kernel(const schema::Instruction& instruction,
                           const schema::Entry& entry,
                           const kernels::Kernel** out_kernel);
  const Instructions* instructions_of(uint32_t entry) const {
    return variant_.entries()->Get(entry)->instructions();
  }
  bool run_call(const Call& call, const ItemRanges* items = nullptr) const {
    if (items && items->are_some) {
      run_some(call, *items);
      return true;
    }
    if (call.kernel) return call.kernel->run(call.operands, scratch_.data());
    if (call.threads > 1)
      run_shared(call);
    else
      call.function(call.operands, 0, call.items);
    return true;
  }
  bool run_measured(const Call& call, const ItemRanges* items,
                    size_t record) const {
    const uint64_t begin = now_ns();
    const bool ran = run_call(call, items);
    profile_->add(record, begin, now_ns());
    return ran;
  }
  mpc_status_t execute(const Submission& submission);
  mpc_status_t execute_here(const Submission& submission);
  mpc_status_t trace_here(uint32_t entry, Observer& observer);
  // On several threads, if they are faster than one.
  void copy(const void* from, void* to, uint64_t size) const;
  void copy_inputs(const Submission& submission) const;
  void copy_outputs(const Submission& submission) const;
  // `*changed` tells whether states have changed so far; the function updates
  // it.
  mpc_status_t run(uint32_t entry, const Submission& submission,
                   bool* changed) const;
  void read_values(const Submission& submission, size_t entries_done);
  uint8_t* memory(schema::Space space) const {
    return space == schema::Space::Arena ? arena_ : states_;
  }
  mpc_status_t failed(uint32_t entry, size_t index, bool changed) const;

  const Host& host_;
  const mpc_program_t& program_;
  const schema::Variant& variant_;
  uint8_t* const states_;
  uint8_t* const arena_;
  Threads& threads_;
  const kernels::Context context_;
  const std::string& code_folder_;  // See DeviceOptions.
  Code code_;
  std::vector<GeneratedFunction> functions_;
  // The key is that of key_of: equal calls share a kernel.
  std::map<std::vector<int64_t>, std::unique_ptr<kernels::Kernel>> kernels_;
  size_t scratch_size_ = 0;
  Memory scratch_;  // Shared by all calls, which run one at a time.
  std::vector<std::vector<void*>>
      operands_;                          // Operands of each entry, end to end.
  std::vector<DirectOutputs> outputs_;    // One for each entry.
  std::vector<std::vector<Call>> calls_;  // Calls of each entry.
  Values values_ = {};                    // Values of the last submission.
  Profile* profile_ = nullptr;            // Null: nothing is measured.
  const std::string note_;
};

mpc_status_t HostExecutable::prepare(const mpc_allocator_t& allocator) {
  MPC_RETURN_IF_ERROR(find_functions());
  for (const schema::Entry* entry : *variant_.entries())
    MPC_RETURN_IF_ERROR(prepare_entry(*entry));
  return scratch_.allocate(allocator, scratch_size_, "scratch of the kernels");
}

mpc_status_t HostExecutable::find_functions() {
  const auto* functions = variant_.functions();
  if (!functions || functions->size() == 0) return nullptr;
  MPC_RETURN_IF_ERROR(
      code_.load(find_segment(*program_.root, program_.file.data(),
                              schema::SegmentKind::Code, host_.name),
                 code_folder_));
  for (const schema::Function* function : *functions) {
    GeneratedFunction address = code_.find(function->symbol()->c_str());
    if (!address)
      return mpc_status_make(MPC_DAMAGED,
                             "the compiled code lacks the function '%s'",
                             function->symbol()->c_str());
    functions_.push_back(address);
  }
  return nullptr;
}

mpc_status_t HostExecutable::prepare_entry(const schema::Entry& entry) {
  std::vector<Call> calls;
  std::vector<void*> operands;
  if (const auto* instructions = entry.instructions()) {
    size_t num_operands = 0;
    for (const schema::Instruction* instruction : *instructions)
      num_operands += instruction->operands()->size();
    // `operands` must not reallocate from here on: calls point into it.
    operands.reserve(num_operands);
    calls.reserve(instructions->size());
    for (const schema::Instruction* instruction : *instructions) {
      Call call;
      MPC_RETURN_IF_ERROR(prepare_call(*instruction, entry, &call));
      call.operands = operands.data() + operands.size();
      for (const schema::Buffer* buffer : *instruction->operands())
        operands.push_back(memory(buffer->space()) + buffer->offset());
      calls.push_back(call);
    }
  }
  calls_.push_back(std::move(calls));
  operands_.push_back(std::move(operands));
  outputs_.emplace_back(entry, arena_);
  return nullptr;
}

mpc_status_t HostExecutable::prepare_call(
    const schema::Instruction& instruction, const schema::Entry& entry,
    Call* call) {
  if (instruction.function() < 0) {
    if (is_mean_over_ranks(instruction))
      call->mean = instruction.operands()->Get(1);
    return make_kernel(instruction, entry, &call->kernel);
  }
  call->function = functions_[static_cast<size_t>(instruction.function())];
  call->items = static_cast<int64_t>(instruction.items());
  uint64_t worth = std::max<uint64_t>(
      1, instruction.items() / std::max<uint64_t>(1, instruction.grain()));
  call->threads = static_cast<int>(
      std::min<uint64_t>(static_cast<uint64_t>(context_.threads), worth));
  return nullptr;
}

mpc_status_t HostExecutable::make_kernel(const schema::Instruction& instruction,
                                         const schema::Entry& entry,
                                         const kernels::Kernel** out_kernel) {
  const kernels::KernelDesc desc = describe_call(instruction);
  std::vector<int64_t> key = key_of(desc);
  auto found = kernels_.find(key);
  if (found == kernels_.end()) {
    std::string error;
    auto kernel = host_.make_kernel(desc, context_, &error);
    if (!kernel) return kernel_error(entry, instruction, error);
    scratch_size_ = std::max(scratch_size_, kernel->scratch_bytes());
    found = kernels_.emplace(std::move(key), std::move(kernel)).first;
  }
  *out_kernel = found->second.get();
  return nullptr;
}

// A kernel can fail only by running out of memory, because its description was
// checked.
mpc_status_t HostExecutable::failed(uint32_t entry, size_t index,
                                    bool changed) const {
  const schema::Instruction& instruction =
      *instructions_of(entry)->Get(static_cast<uint32_t>(index));
  const char* name = instruction.name() ? instruction.name()->c_str() : "";
  if (changed)
    return mpc_status_make(MPC_DEVICE_LOST,
                           "a kernel of '%s' ran out of memory during an "
                           "update of the session; its weights are lost",
                           name);
  return mpc_status_make(MPC_OUT_OF_MEMORY,
                         "a kernel of '%s' ran out of memory; the session is "
                         "as it was before the call",
                         name);
}

// Reads the values that are due after `entries_done` entry points.
void HostExecutable::read_values(const Submission& submission,
                                 size_t entries_done) {
  for (size_t i = 0; i < submission.num_values; ++i) {
    const Value& value = submission.values[i];
    if (std::min<size_t>(value.after, submission.num_entries) == entries_done)
      std::memcpy(&values_.bits[i], memory(value.space) + value.offset,
                  value.size);
  }
}

mpc_status_t HostExecutable::submit(const Submission& submission) {
  if (!profile_) return execute(submission);
  profile_->begin_call(now_ns());
  mpc_status_t status = execute(submission);
  profile_->end_call(now_ns());
  return status;
}

mpc_status_t HostExecutable::execute(const Submission& submission) {
  const auto body = [&] { return execute_here(submission); };
  return threads_.run(Work(body));
}

mpc_status_t HostExecutable::execute_here(const Submission& submission) {
  copy_inputs(submission);
  if (!submission.part || submission.part->begin == 0)
    read_values(submission, 0);
  bool changed = false;
  if (submission.outputs) {
    const uint32_t entry = submission.entries[0];
    void** const operands = operands_[entry].data();
    outputs_[entry].redirect(submission.outputs, submission.num_outputs,
                             operands);
    mpc_status_t status = run(entry, submission, &changed);
    outputs_[entry].restore(operands);
    if (!status) copy_outputs(submission);
    return status;
  }
  for (size_t i = 0; i < submission.num_entries; ++i) {
    MPC_RETURN_IF_ERROR(run(submission.entries[i], submission, &changed));
    read_values(submission, i + 1);
  }
  return nullptr;
}

void HostExecutable::copy(const void* from, void* to, uint64_t size) const {
  // Less is copied faster by one thread than others wake up.
  constexpr uint64_t kWorthThreads = 1 << 18;
  kernels::parallel(
      size < kWorthThreads ? 1 : context_.threads, [&](int part, int parts) {
        const kernels::Range mine =
            kernels::share(static_cast<int64_t>(size), part, parts);
        if (mine.begin < mine.end)
          std::memcpy(static_cast<uint8_t*>(to) + mine.begin,
                      static_cast<const uint8_t*>(from) + mine.begin,
                      static_cast<size_t>(mine.end - mine.begin));
      });
}

void HostExecutable::copy_outputs(const Submission& submission) const {
  const DirectOutputs& outputs = outputs_[submission.entries[0]];
  for (size_t i = 0; i < submission.num_outputs; ++i) {
    const Output& output = submission.outputs[i];
    if (!output.data || outputs.is_direct(i, output.data)) continue;
    copy(memory(output.buffer->space()) + output.buffer->offset(), output.data,
         bytes_of(*output.buffer));
  }
}

void HostExecutable::copy_inputs(const Submission& submission) const {
  if (submission.num_inputs == 0) return;
  const uint64_t begin = profile_ ? now_ns() : 0;
  for (size_t i = 0; i < submission.num_inputs; ++i) {
    const schema::Buffer& buffer = *submission.inputs[i].buffer;
    copy(submission.inputs[i].data, memory(buffer.space()) + buffer.offset(),
         bytes_of(buffer));
  }
  if (profile_) profile_->add(profile_->inputs_record(), begin, now_ns());
}

mpc_status_t HostExecutable::run(uint32_t entry, const Submission& submission,
                                 bool* changed) const {
  const std::vector<Call>& calls = calls_[entry];
  const size_t num_readonly_instructions =
      variant_.entries()->Get(entry)->reads_only();
  const Part all = {0, calls.size(), nullptr};
  const Part& part = submission.part ? *submission.part : all;
  for (size_t i = part.begin; i < part.end; ++i) {
    const ItemRanges* items = part.items ? part.items + i : nullptr;
    if (profile_ ? !run_measured(calls[i], items, profile_->record_of(entry, i))
                 : !run_call(calls[i], items))
      return failed(entry, i, *changed || i >= num_readonly_instructions);
    if (calls[i].mean && submission.means)
      MPC_RETURN_IF_ERROR(submission.means->mean(
          calls[i].operands[1], count_of(calls[i].mean->shape()),
          dtype_of(calls[i].mean->dtype())));
    if (submission.listener) submission.listener->ran(i + 1);
  }
  *changed |= part.end > num_readonly_instructions;
  return nullptr;
}

mpc_status_t HostExecutable::trace(uint32_t entry, Observer& observer) {
  const auto body = [&] { return trace_here(entry, observer); };
  return threads_.run(Work(body));
}

mpc_status_t HostExecutable::trace_here(uint32_t entry, Observer& observer) {
  const std::vector<Call>& calls = calls_[entry];
  for (uint32_t i = 0; i < calls.size(); ++i) {
    const schema::Instruction& instruction = *instructions_of(entry)->Get(i);
    if (!observer.before(instruction)) break;
    if (!run_call(calls[i])) return failed(entry, i, true);
    if (!observer.after(instruction)) break;
  }
  return nullptr;
}

class HostDevice : public Device {
 public:
  HostDevice(const Host& host, const mpc_program_t& program,
             const schema::Variant& variant, const DeviceOptions& options)
      : host_(host),
        program_(program),
        variant_(variant),
        options_(options),
        name_(host.name) {}

  const std::string& name() const override { return name_; }

  mpc_status_t allocate(uint64_t state_size, uint64_t arena_size) override {
    MPC_RETURN_IF_ERROR(
        states_.allocate(options_.allocator, state_size, "the states"));
    MPC_RETURN_IF_ERROR(
        arena_.allocate(options_.allocator, arena_size, "the arena"));
    MPC_RETURN_IF_ERROR(threads_.start(!host_.has_threads ? 1
                                       : options_.threads == 0
                                           ? default_threads()
                                           : static_cast<int>(options_.threads),
                                       options_.thread_pool));
    const auto touch = [&] { return touch_states(); };
    return threads_.are_bound() ? threads_.run(Work(touch)) : nullptr;
  }

  uint8_t* host_memory(schema::Space space) override { return memory(space); }
  bool owns_pages() const override {
    return options_.allocator.allocate == default_allocator().allocate;
  }

  mpc_status_t upload(schema::Space space, uint64_t offset, const void* data,
                      uint64_t size, MemoryKind) override {
    uint8_t* const target = memory(space) + offset;
    // A caller may pass the memory of a state, which it has changed there.
    if (size > 0 && target != data) std::memcpy(target, data, size);
    return nullptr;
  }

  mpc_status_t download(schema::Space space, uint64_t offset, void* data,
                        uint64_t size, MemoryKind) const override {
    if (size > 0) std::memcpy(data, memory(space) + offset, size);
    return nullptr;
  }

  mpc_status_t locate(mpc_device_t device, const void*,
                      MemoryKind* out_memory_kind) const override {
    *out_memory_kind = MemoryKind::kHost;
    if (device.kind == MPC_DEVICE_HOST) return nullptr;
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "lies in the memory of a device (kind %u), but the "
                           "session runs on the %s",
                           static_cast<unsigned>(device.kind), host_.name);
  }

  mpc_status_t prepare(std::unique_ptr<Executable>* out_executable) override {
    auto executable = std::make_unique<HostExecutable>(
        host_, program_, variant_, states_.data(), arena_.data(), threads_,
        options_.deterministic, options_.code_folder);
    const auto prepare = [&] {
      return executable->prepare(options_.allocator);
    };
    MPC_RETURN_IF_ERROR(threads_.run(Work(prepare)));
    *out_executable = std::move(executable);
    return nullptr;
  }

 private:
  uint8_t* memory(schema::Space space) const {
    return space == schema::Space::Arena ? arena_.data() : states_.data();
  }

  // Memory belongs to the NUMA node whose thread writes it first. One thread
  // writes initial values, so each thread writes its own part of them before.
  // Kernels write all other states first, each thread its own part.
  mpc_status_t touch_states() const {
    constexpr uint64_t kPage = 4096;
    if (!program_.root->states()) return nullptr;
    for (const schema::State* state : *program_.root->states()) {
      const uint64_t bytes = state->initial_size();
      kernels::parallel(threads_.count(), [&](int part, int parts) {
        const kernels::Range mine =
            kernels::share(static_cast<int64_t>(bytes / kPage), part, parts);
        for (int64_t page = mine.begin; page < mine.end; ++page)
          states_
              .data()[state->offset() + static_cast<uint64_t>(page) * kPage] =
              0;
      });
    }
    return nullptr;
  }

  const Host& host_;
  const mpc_program_t& program_;
  const schema::Variant& variant_;
  const DeviceOptions options_;
  const std::string name_;
  Threads threads_;
  Memory states_;
  Memory arena_;
};

}  // namespace

mpc_status_t check_host_code(const Host& host, const schema::Program& root,
                             const uint8_t* file,
                             const schema::Variant& variant) {
  if (!variant.functions() || variant.functions()->size() == 0 ||
      find_segment(root, file, schema::SegmentKind::Code, host.name).size > 0)
    return nullptr;
  return mpc_status_make(MPC_INCOMPATIBLE,
                         "the package has no code for the device '%s'; compile "
                         "the model with option 'target'=%s",
                         host.name, host.name);
}

mpc_status_t open_host(const Host& host, const mpc_program_t& program,
                       const schema::Variant& variant,
                       const DeviceOptions& options,
                       std::unique_ptr<Device>* out_device) {
  constexpr uint32_t kMaxThreads = 1024;
  if (options.threads > kMaxThreads)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "threads must be at most %u, but is %u", kMaxThreads,
                           options.threads);
  if (options.stream)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "a stream was given, but the session runs on the "
                           "%s, which has none",
                           host.name);
  MPC_RETURN_IF_ERROR(check_cpu_features(variant));
  *out_device = std::make_unique<HostDevice>(host, program, variant, options);
  return nullptr;
}

}  // namespace mpc::runtime
