#include "test/runtime/package.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mpc::test {

using namespace mpc::program;

namespace {

constexpr uint64_t kSealSize = 16;

std::unique_ptr<BufferT> buffer(Space space, uint64_t offset, DType dtype,
                                std::vector<int64_t> shape = {}) {
  auto result = std::make_unique<BufferT>();
  result->space = space;
  result->offset = offset;
  result->dtype = dtype;
  result->shape = std::move(shape);
  return result;
}

uint64_t round_up(uint64_t offset) { return (offset + 63) / 64 * 64; }

constexpr uint32_t kCopy = 10;  // As kernels/catalog.def has it.

// Collects the parts of a package and assigns offsets.
class Builder {
 public:
  Builder() {
    program.variants.push_back(std::make_unique<VariantT>());
    program.variants[0]->device = "cpu";
  }
  VariantT& variant() { return *program.variants[0]; }

  StateT& state(const std::string& name, StateKind kind, DType dtype,
                std::vector<int64_t> shape, uint64_t bytes) {
    auto state = std::make_unique<StateT>();
    state->name = name;
    state->kind = kind;
    state->dtype = dtype;
    state->shape = std::move(shape);
    state->offset = program.state_size;
    program.state_size = round_up(program.state_size + bytes);
    program.states.push_back(std::move(state));
    return *program.states.back();
  }

  template <typename T>
  void initial(StateT& state, const std::vector<T>& values) {
    initial_.resize(round_up(initial_.size()));
    state.initial_offset = initial_.size();
    state.initial_size = values.size() * sizeof(T);
    auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    initial_.insert(initial_.end(), bytes, bytes + state.initial_size);
  }

  // A buffer over a whole state.
  std::unique_ptr<BufferT> state_buffer(const std::string& name) const {
    for (const auto& state : program.states)
      if (state->name == name)
        return buffer(Space::State, state->offset, state->dtype, state->shape);
    ADD_FAILURE() << "no state " << name;
    return nullptr;
  }

  // A new buffer in the arena.
  BufferT arena(DType dtype, std::vector<int64_t> shape, uint64_t bytes) {
    BufferT result = *buffer(Space::Arena, variant().arena_size, dtype, shape);
    variant().arena_size = round_up(variant().arena_size + bytes);
    return result;
  }

  EntryT& entry(const std::string& name) {
    variant().entries.push_back(std::make_unique<EntryT>());
    variant().entries.back()->name = name;
    return *variant().entries.back();
  }

  InstructionT& call(EntryT& entry, const std::string& function) {
    auto instruction = std::make_unique<InstructionT>();
    instruction->name = function + " (node)";
    auto found = std::find_if(
        variant().functions.begin(), variant().functions.end(),
        [&](const auto& candidate) { return candidate->symbol == function; });
    instruction->function =
        static_cast<int32_t>(found - variant().functions.begin());
    if (found == variant().functions.end()) {
      variant().functions.push_back(std::make_unique<FunctionT>());
      variant().functions.back()->symbol = function;
    }
    entry.instructions.push_back(std::move(instruction));
    return *entry.instructions.back();
  }

  InstructionT& kernel(EntryT& entry, uint32_t id) {
    auto instruction = std::make_unique<InstructionT>();
    instruction->name = "kernel " + std::to_string(id);
    instruction->kernel = id;
    entry.instructions.push_back(std::move(instruction));
    return *entry.instructions.back();
  }

  void segment(SegmentKind kind, const std::string& target, Bytes bytes) {
    segments_.push_back({kind, target, std::move(bytes)});
  }

  Bytes finish(const std::function<void(ProgramT&)>& edit);

  ProgramT program;

 private:
  struct Piece {
    SegmentKind kind;
    std::string target;
    Bytes bytes;
  };
  Bytes initial_;
  std::vector<Piece> segments_;
};

void add_binding(std::vector<std::unique_ptr<BindingT>>& bindings,
                 const std::string& name, const BufferT& where,
                 int32_t batch_dim = -1) {
  auto binding = std::make_unique<BindingT>();
  binding->name = name;
  binding->buffer = std::make_unique<BufferT>(where);
  binding->batch_dim = batch_dim;
  bindings.push_back(std::move(binding));
}

void add(InstructionT& instruction, const BufferT& operand) {
  instruction.operands.push_back(std::make_unique<BufferT>(operand));
}

Bytes root_bytes(const ProgramT& program) {
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, Program::Pack(builder, &program));
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

Bytes Builder::finish(const std::function<void(ProgramT&)>& edit) {
  program.format = 1;
  program.producer = "mpc test";
  program.model = "test.onnx";
  std::string report = "{\"ops\":[]}";
  segments_.insert(segments_.begin(), {{SegmentKind::States, "", initial_},
                                       {SegmentKind::Report, "",
                                        Bytes(report.begin(), report.end())}});
  for (const Piece& piece : segments_) {
    auto segment = std::make_unique<SegmentT>();
    segment->kind = piece.kind;
    segment->target = piece.target;
    segment->offset = 64;  // Not 0, which would take no space in the table.
    segment->size = piece.bytes.size();
    segment->checksum = XXH3_64bits(piece.bytes.data(), piece.bytes.size());
    program.segments.push_back(std::move(segment));
  }
  // Space for additions to the tables by an edit.
  uint64_t offset = round_up(root_bytes(program).size() + 4096);
  for (size_t i = 0; i < segments_.size(); ++i) {
    program.segments[i]->offset = offset;
    offset = round_up(offset + segments_[i].bytes.size());
  }
  uint64_t first = program.segments[0]->offset;
  if (edit) edit(program);
  Bytes package = root_bytes(program);
  package.resize(first);
  for (const Piece& piece : segments_) {
    package.insert(package.end(), piece.bytes.begin(), piece.bytes.end());
    package.resize(round_up(package.size()));
  }
  package.resize(package.size() + kSealSize);
  seal(&package);
  return package;
}

std::unique_ptr<SlotT> slot(const std::string& name, uint64_t offset,
                            std::vector<int64_t> shape) {
  auto result = std::make_unique<SlotT>();
  result->name = name;
  result->offset = offset;
  result->shape = std::move(shape);
  return result;
}

// States with one value for each parameter.
void add_option(Builder& builder, const char* name, const std::string& value) {
  auto option = std::make_unique<OptionT>();
  option->name = name;
  option->value = value;
  builder.program.options.push_back(std::move(option));
}

void add_packed(Builder& builder, const PackageOptions& options,
                const std::string& name, StateKind kind, DType dtype,
                uint64_t size) {
  StateT& state = builder.state(name, kind, dtype, {1, 1024}, 1024 * size);
  state.slots.push_back(slot(options.parameter, 0, {4, 2}));
  state.slots.push_back(slot("b", 16, {2}));
}

void add_states(Builder& builder, const PackageOptions& options) {
  add_packed(builder, options, "parameters", StateKind::Parameter, DType::F32,
             4);
  std::vector<float> initial(1024, 0.0f);
  for (size_t i = 0; i < 8; ++i) initial[i] = 0.1f * static_cast<float>(i + 1);
  initial[16] = -1;
  initial[17] = 1;
  builder.initial(*builder.program.states.back(), initial);
  // The step always writes a copy; without a working copy it is a plain state.
  if (options.working_copy) {
    add_packed(builder, options, "parameters.bf16", StateKind::WorkingCopy,
               DType::BF16, 2);
    builder.program.states.back()->copy_of = 0;
  } else {
    builder.state("scratch", StateKind::Constant, DType::BF16, {1024}, 2048);
  }
  add_packed(builder, options, "momentum.velocity", StateKind::Optimizer,
             DType::F32, 4);
  if (options.accumulate > 1)
    add_packed(builder, options, "gradients", StateKind::Optimizer, DType::F32,
               4);
  builder.state("step_count", StateKind::Control, DType::I64, {}, 8);
  StateT& rate =
      builder.state("learning_rate", StateKind::Control, DType::F32, {}, 4);
  builder.initial(rate, std::vector<float>{0.25f});
  builder.state("random_seed", StateKind::Control, DType::I64, {}, 8);
  StateKind kind =
      options.loss_scaling ? StateKind::Control : StateKind::Constant;
  const char* suffix = options.loss_scaling ? "" : ".unused";
  StateT& scale = builder.state(std::string("loss_scale") + suffix, kind,
                                DType::F32, {}, 4);
  builder.initial(scale, std::vector<float>{options.loss_scale});
  builder.state(std::string("loss_scale_streak") + suffix, kind, DType::I32, {},
                4);
  StateT& mean =
      builder.state("running_mean", StateKind::Statistic, DType::F32, {2}, 8);
  builder.initial(mean, std::vector<float>{3, 4});
  builder.state("counts", StateKind::Constant, DType::I32, {1000}, 4000);
  if (options.derived) {
    builder.state("derived", StateKind::Derived, DType::F32, {1, 1024}, 4096);
    builder.state("runs", StateKind::Constant, DType::F32, {}, 4);
    StateT& one = builder.state("one", StateKind::Constant, DType::F32, {}, 4);
    builder.initial(one, std::vector<float>{1});
  }
  if (options.table > 0) {
    std::vector<float> values(static_cast<size_t>(options.table));
    std::iota(values.begin(), values.end(), 0.0f);
    builder.initial(builder.state("table", StateKind::Constant, DType::F32,
                                  {options.table}, values.size() * 4),
                    values);
  }
  if (options.bulk > 0)
    builder.state("bulk_sum", StateKind::Constant, DType::F32, {options.bulk},
                  4 * static_cast<uint64_t>(options.bulk));
}

void add_update(Builder& builder, EntryT& entry, const BufferT& gradient,
                const PackageOptions& options) {
  std::string suffix = options.loss_scaling ? "" : ".unused";
  InstructionT& update = builder.call(entry, "test_update");
  BufferT norm = builder.arena(DType::F32, {}, 4);
  BufferT finite = builder.arena(DType::Bool, {}, 1);
  add(update, gradient);
  add(update, *builder.state_buffer("loss_scale" + suffix));
  add(update, *builder.state_buffer("parameters"));
  add(update, *builder.state_buffer(options.working_copy ? "parameters.bf16"
                                                         : "scratch"));
  add(update, *builder.state_buffer("momentum.velocity"));
  add(update, *builder.state_buffer("learning_rate"));
  add(update, *builder.state_buffer("step_count"));
  add(update, *builder.state_buffer("loss_scale_streak" + suffix));
  add(update, norm);
  add(update, finite);
  add_binding(entry.outputs, "grad_norm", norm);
  if (options.loss_scaling || options.guarded)
    add_binding(entry.outputs, "finite", finite);
}

void add_training(Builder& builder, const BufferT& x, const BufferT& labels,
                  const PackageOptions& options) {
  bool accumulates = options.accumulate > 1;
  std::string suffix = options.loss_scaling ? "" : ".unused";
  BufferT gradient = builder.arena(DType::F32, {1, 1024}, 4096);
  BufferT loss = builder.arena(DType::F32, {}, 4);
  EntryT& step = builder.entry(accumulates ? "accumulate" : "step");
  add_binding(step.inputs, "x", x, 0);
  add_binding(step.inputs, "labels", labels, 0);
  step.inputs.back()->has_range = true;
  step.inputs.back()->low = 0;
  step.inputs.back()->high = 2;
  step.inputs.back()->has_ignored = true;
  step.inputs.back()->ignored = -100;
  add_binding(step.outputs, "loss", loss);
  InstructionT& backward = builder.call(step, "test_gradient");
  add(backward, x);
  add(backward, *builder.state_buffer("parameters"));
  add(backward, *builder.state_buffer("loss_scale" + suffix));
  add(backward, gradient);
  add(backward, loss);
  if (options.bulk > 0) {
    BufferT bulk = builder.arena(DType::F32, {options.bulk},
                                 4 * static_cast<uint64_t>(options.bulk));
    add_binding(step.inputs, "bulk", bulk);
    InstructionT& sum = builder.call(step, "test_accumulate");
    sum.items = static_cast<uint64_t>(options.bulk);
    add(sum, bulk);
    add(sum, *builder.state_buffer("bulk_sum"));
  }
  if (!accumulates) return add_update(builder, step, gradient, options);
  InstructionT& sum = builder.call(step, "test_accumulate");
  sum.items = 1024;
  sum.grain = 256;
  add(sum, gradient);
  add(sum, *builder.state_buffer("gradients"));
  EntryT& apply = builder.entry("apply");
  add_update(builder, apply, *builder.state_buffer("gradients"), options);
  InstructionT& clear = builder.call(apply, "test_clear");
  clear.items = 1024;
  clear.grain = 1024;
  add(clear, *builder.state_buffer("gradients"));
}

// The same program for CUDA, with one thread per item. The matrix product is a
// function, because the catalog kernel would need NVIDIA's library.
void add_cuda(Builder& builder, const PackageOptions& options) {
  if (options.ptx.empty() && options.cubins.empty()) return;
  for (const std::string& target : options.ptx) {
    std::string text = "// PTX for " + target;
    builder.segment(SegmentKind::Ptx, target, Bytes(text.begin(), text.end()));
  }
  for (const std::string& target : options.cubins) {
    std::string text = "cubin for " + target;
    text += '\0';
    builder.segment(SegmentKind::Cubin, target,
                    Bytes(text.begin(), text.end()));
  }
  auto variant = std::make_unique<VariantT>(builder.variant());
  variant->device = "cuda";
  auto function = std::make_unique<FunctionT>();
  function->symbol = "test_matmul";
  variant->functions.push_back(std::move(function));
  for (const auto& entry : variant->entries)
    for (const auto& instruction : entry->instructions) {
      instruction->threads = 1;
      if (instruction->function >= 0 || instruction->kernel != 1) continue;
      instruction->function =
          static_cast<int32_t>(variant->functions.size() - 1);
      instruction->kernel = 0;
      instruction->attributes.clear();
    }
  builder.program.variants.push_back(std::move(variant));
}

void add_evaluate(Builder& builder, const BufferT& x, const BufferT& labels) {
  EntryT& entry = builder.entry("evaluate");
  add_binding(entry.inputs, "x", x, 0);
  add_binding(entry.inputs, "labels", labels, 0);
  InstructionT& evaluate = builder.call(entry, "test_evaluate");
  evaluate.items = 4;
  add(evaluate, x);
  add(evaluate, labels);
  for (const char* name : {"sample_loss", "sample_weight", "sample_correct"}) {
    BufferT values = builder.arena(DType::F32, {4}, 16);
    add(evaluate, values);
    add_binding(entry.outputs, name, values, 0);
  }
}

void add_derive(Builder& builder) {
  EntryT& derive = builder.entry("derive");
  InstructionT& copy = builder.kernel(derive, kCopy);
  add(copy, *builder.state_buffer("parameters"));
  add(copy, *builder.state_buffer("derived"));
  InstructionT& count = builder.call(derive, "test_accumulate");
  count.items = 1;
  add(count, *builder.state_buffer("one"));
  add(count, *builder.state_buffer("runs"));

  EntryT& show = builder.entry("show");
  BufferT values = builder.arena(DType::F32, {1, 1024}, 4096);
  InstructionT& read = builder.kernel(show, kCopy);
  add(read, *builder.state_buffer("derived"));
  add(read, values);
  add_binding(show.outputs, "derived", values);
}

}  // namespace

void seal(Bytes* package) {
  size_t size = package->size() - kSealSize;
  std::memcpy(package->data() + size, "MPCPSEAL", 8);
  uint64_t sum = XXH3_64bits(package->data(), size);
  std::memcpy(package->data() + size + 8, &sum, 8);
}

Bytes make_package(const PackageOptions& options) {
  Builder builder;
  add_states(builder, options);
  BufferT x = builder.arena(DType::F32, {4, 4}, 64);
  BufferT labels = builder.arena(DType::I64, {4}, 32);
  add_training(builder, x, labels, options);
  add_evaluate(builder, x, labels);

  EntryT& predict = builder.entry("predict");
  BufferT y = builder.arena(DType::F32, {4, 2}, 32);
  add_binding(predict.inputs, "x", x, 0);
  add_binding(predict.outputs, "y", y, 0);
  InstructionT& matmul = builder.kernel(predict, 1);
  matmul.attributes = {0, 0};
  add(matmul, x);
  add(matmul, *buffer(Space::State, 0, DType::F32, {4, 2}));
  add(matmul, y);

  EntryT& count = builder.entry("count");
  InstructionT& counting = builder.call(count, "test_count");
  counting.items = 1000;
  counting.grain = 10;
  add(counting, *builder.state_buffer("counts"));

  if (options.derived) add_derive(builder);

  builder.program.loss_scaling = options.loss_scaling;
  builder.program.accumulate = options.accumulate;
  add_option(builder, "precision", options.precision);
  if (options.accumulate > 1)
    add_option(builder, "accumulate", std::to_string(options.accumulate));
  add_cuda(builder, options);
  builder.segment(SegmentKind::Code, "cpu",
                  read_bytes(MPC_TEST_GENERATED_CODE));
  return builder.finish(options.edit);
}

Bytes make_small_package() {
  Builder builder;
  BufferT x = builder.arena(DType::F32, {2}, 8);
  BufferT y = builder.arena(DType::F32, {2}, 8);
  StateT& table =
      builder.state("table", StateKind::Constant, DType::F32, {2}, 8);
  builder.initial(table, std::vector<float>{1, 2});
  EntryT& predict = builder.entry("predict");
  add_binding(predict.inputs, "x", x);
  add_binding(predict.outputs, "y", y);
  InstructionT& copy = builder.kernel(predict, kCopy);
  add(copy, x);
  add(copy, y);
  return builder.finish(nullptr);
}

Outcome take(mpc_status_t status) {
  Outcome outcome{mpc_status_code(status), mpc_status_message(status)};
  mpc_status_free(status);
  return outcome;
}

ProgramPtr load(const Bytes& package) {
  mpc_program_t* program = nullptr;
  EXPECT_OK(mpc_program_load_memory(package.data(), package.size(), &program));
  return ProgramPtr(program);
}

Outcome try_load(const Bytes& package) {
  mpc_program_t* program = nullptr;
  Outcome outcome =
      take(mpc_program_load_memory(package.data(), package.size(), &program));
  EXPECT_EQ(program != nullptr, outcome.code == MPC_OK);
  mpc_program_destroy(program);
  return outcome;
}

SessionPtr create(const ProgramPtr& program, uint32_t threads) {
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.threads = threads;
  options.seed = 42;
  mpc_session_t* session = nullptr;
  EXPECT_OK(mpc_session_create(program.get(), &options, &session));
  return SessionPtr(session);
}

Batch::Batch(float value) {
  std::fill(std::begin(x), std::end(x), value);
  tensors[0] = {sizeof(mpc_tensor_t), MPC_DTYPE_F32, 2, x_shape, x, {}};
  tensors[1] = {sizeof(mpc_tensor_t), MPC_DTYPE_I64, 1,
                labels_shape,         labels,        {}};
}

mpc_step_info_t step(const SessionPtr& session, float value) {
  Batch batch(value);
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_step(session.get(), batch.tensors, 2, &info));
  return info;
}

static Bytes read_tensor(mpc_session_t* session, const mpc_state_info_t& info) {
  size_t size = mpc_dtype_size(info.dtype);
  for (uint32_t i = 0; i < info.rank; ++i)
    size *= static_cast<size_t>(info.shape[i]);
  Bytes bytes(size);
  mpc_tensor_t tensor = {sizeof(tensor), info.dtype,   info.rank,
                         info.shape,     bytes.data(), {}};
  EXPECT_OK(mpc_session_read_state(session, info.name, &tensor));
  return bytes;
}

Bytes read_state(const SessionPtr& session, const char* name) {
  // Types are inferred from the name of the state.
  static const int64_t kW[2] = {4, 2}, kPair[1] = {2}, kCounts[1] = {1000};
  std::string last = std::string(name).substr(std::string(name).rfind('/') + 1);
  mpc_state_info_t info = {};
  info.struct_size = sizeof(info);
  info.name = name;
  info.dtype = MPC_DTYPE_F32;
  if (last == "w") info.rank = 2, info.shape = kW;
  if (last == "b" || last == "running_mean") info.rank = 1, info.shape = kPair;
  if (last == "counts") {
    info.rank = 1, info.shape = kCounts;
    info.dtype = MPC_DTYPE_I32;
  }
  if (last == "step_count" || last == "random_seed") info.dtype = MPC_DTYPE_I64;
  if (last == "loss_scale_streak") info.dtype = MPC_DTYPE_I32;
  if (std::string(name).find(".bf16/") != std::string::npos)
    info.dtype = MPC_DTYPE_BF16;
  return read_tensor(session.get(), info);
}

float read_float(const SessionPtr& session, const char* name) {
  Bytes bytes = read_state(session, name);
  float value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

Bytes all_states(const ProgramPtr& program, const SessionPtr& session) {
  Bytes all;
  for (size_t i = 0; i < mpc_program_num_states(program.get()); ++i) {
    mpc_state_info_t info = {};
    info.struct_size = sizeof(info);
    EXPECT_OK(mpc_program_state(program.get(), i, &info));
    // Constants by kind that the test's code writes all the same.
    std::string state = info.name;
    if (state == "scratch" || state.find(".unused") != std::string::npos)
      continue;
    Bytes one = read_tensor(session.get(), info);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

Folder::Folder() {
  char path[] = "/tmp/mpc-runtime-test-XXXXXX";
  path_ = mkdtemp(path);
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const Bytes& bytes) {
  // Overwrite in place: ext4 first syncs a file that was truncated to 0 bytes.
  if (!std::filesystem::exists(path)) std::ofstream(path, std::ios::binary);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  std::filesystem::resize_file(path, bytes.size());
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(file) << path;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace mpc::test
