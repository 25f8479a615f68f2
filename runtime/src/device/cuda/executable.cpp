#include "runtime/src/device/cuda/executable.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/src/device/cuda/graph.h"

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

// The space that an input takes in pinned memory, where inputs are aligned to
// kAlignment.
uint64_t padded(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// From this many bytes on, inputs take a detour: they are copied to the landing
// memory while the previous step runs, and from there to their place in the
// arena, which that step still uses.
constexpr uint64_t kLargeInputs = uint64_t{1} << 20;

uint64_t host_bytes(const Submission& submission) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < submission.num_inputs; ++i)
    if (submission.inputs[i].memory_kind == MemoryKind::kHost)
      bytes += padded(bytes_of(*submission.inputs[i].buffer));
  return bytes;
}

// Up to this many bytes, one kernel copies all inputs; more are faster with the
// copy engine.
constexpr uint64_t kCopiedByKernel = uint64_t{256} << 10;

uint64_t input_bytes(const Submission& submission) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < submission.num_inputs; ++i)
    bytes += bytes_of(*submission.inputs[i].buffer);
  return bytes;
}

// The maximum number of bytes that one copy of values may span: copying the
// bytes between values saves copies.
constexpr uint64_t kWindow = 4096;

static_assert(kMaxValues <= kernels::kMaxCopyPieces);

// The number of entry points that have run when a value of the submission is
// read.
size_t due(const Submission& submission, size_t value) {
  return std::min<size_t>(submission.values[value].after,
                          submission.num_entries);
}

// Adds to a failure in a step what it means for the caller.
mpc_status_t with_weights_lost(mpc_status_t status) {
  if (!status) return nullptr;
  mpc_status_t explained =
      mpc_status_make(MPC_DEVICE_LOST, "%s; the session's weights are lost",
                      mpc_status_message(status));
  mpc_status_free(status);
  return explained;
}

}  // namespace

CudaExecutable::~CudaExecutable() {
  ContextScope scope(gpu_);
  // Members must not be in use when they are destroyed.
  if (num_submitted_ == 0) return;
  (void)gpu_.driver().cuStreamSynchronize(side_stream_.get());
  (void)gpu_.driver().cuStreamSynchronize(stream_);
}

uint64_t CudaExecutable::most_input_bytes() const {
  uint64_t most = 0;
  for (const schema::Entry* entry : *variant_.entries()) {
    uint64_t bytes = 0;
    if (entry->inputs())
      for (const schema::Binding* input : *entry->inputs())
        bytes += padded(bytes_of(*input->buffer()));
    most = std::max(most, bytes);
  }
  return most;
}

size_t CudaExecutable::most_inputs() const {
  size_t most = 0;
  for (const schema::Entry* entry : *variant_.entries())
    if (entry->inputs()) most = std::max<size_t>(most, entry->inputs()->size());
  return most;
}

mpc_status_t CudaExecutable::prepare(
    const std::vector<const schema::Segment*>& code, bool deterministic,
    kernels::IdleMemory idle) {
  MPC_RETURN_IF_ERROR(create_stream(gpu_, &side_stream_));
  MPC_RETURN_IF_ERROR(
      calls_.prepare(code, side_stream_.get(), deterministic, idle));
  note_ = calls_.note();
  const uint64_t input_bytes = most_input_bytes();
  for (Slot& slot : slots_) {
    slot.sources.reserve(most_inputs());
    MPC_RETURN_IF_ERROR(
        allocate_pinned(gpu_, input_bytes, "inputs in transfer", &slot.inputs));
    MPC_RETURN_IF_ERROR(allocate_pinned(gpu_, kMaxValues * kWindow,
                                        "results of steps", &slot.windows));
    MPC_RETURN_IF_ERROR(create_event(gpu_, &slot.done));
    if (input_bytes < kLargeInputs) continue;
    MPC_RETURN_IF_ERROR(allocate_device(
        gpu_, input_bytes, "inputs transferred during a step", &slot.landing));
    MPC_RETURN_IF_ERROR(create_event(gpu_, &slot.landed));
  }
  graphs_.resize(variant_.entries()->size());
  return nullptr;
}

mpc_status_t CudaExecutable::submit(const Submission& submission) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  // This slot is free: the caller has waited for the submission that used it.
  Slot& slot = slots_[num_submitted_ % kSlots];
  ++num_submitted_;
  return with_weights_lost(queue(submission, slot));
}

mpc_status_t CudaExecutable::queue(const Submission& submission, Slot& slot) {
  slot.num_values = submission.num_values;
  slot.sources.assign(submission.inputs,
                      submission.inputs + submission.num_inputs);
  std::fill(std::begin(slot.places), std::end(slot.places), nullptr);
  if (profile_) return queue_measured(submission, slot);
  MPC_RETURN_IF_ERROR(queue_inputs(submission, slot));
  MPC_RETURN_IF_ERROR(queue_values(submission, 0, slot));
  for (size_t i = 0; i < submission.num_entries; ++i) {
    MPC_RETURN_IF_ERROR(queue_entry(submission.entries[i]));
    MPC_RETURN_IF_ERROR(queue_values(submission, i + 1, slot));
  }
  return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventRecord, slot.done.get(),
                  stream_);
}

// The same with events around the inputs and each call.
mpc_status_t CudaExecutable::queue_measured(const Submission& submission,
                                            Slot& slot) {
  CudaMarks& marks = slot.marks;
  MPC_RETURN_IF_ERROR(marks.begin_call(gpu_, stream_));
  if (submission.num_inputs > 0) {
    MPC_RETURN_IF_ERROR(marks.begin_piece(gpu_, stream_));
    MPC_RETURN_IF_ERROR(queue_inputs(submission, slot));
    MPC_RETURN_IF_ERROR(
        marks.end_piece(gpu_, profile_->inputs_record(), stream_));
  }
  MPC_RETURN_IF_ERROR(queue_values(submission, 0, slot));
  for (size_t i = 0; i < submission.num_entries; ++i) {
    MPC_RETURN_IF_ERROR(queue_calls_measured(submission.entries[i], marks));
    MPC_RETURN_IF_ERROR(queue_values(submission, i + 1, slot));
  }
  MPC_RETURN_IF_ERROR(marks.end_call(gpu_, stream_));
  return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventRecord, slot.done.get(),
                  stream_);
}

mpc_status_t CudaExecutable::queue_calls_measured(uint32_t entry,
                                                  CudaMarks& marks) {
  for (size_t i = 0; i < calls_.count(entry); ++i) {
    MPC_RETURN_IF_ERROR(marks.begin_piece(gpu_, stream_));
    MPC_RETURN_IF_ERROR(calls_.enqueue(entry, i, stream_));
    MPC_RETURN_IF_ERROR(
        marks.end_piece(gpu_, profile_->record_of(entry, i), stream_));
  }
  return nullptr;
}

mpc_status_t CudaExecutable::set_profile(Profile* profile) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  profile_ = nullptr;
  for (Slot& slot : slots_) slot.marks.reset();
  if (!profile) return nullptr;
  // A submission runs an entry point at most once, and copies inputs.
  size_t most_pieces = 1;
  for (uint32_t entry = 0; entry < variant_.entries()->size(); ++entry)
    most_pieces += calls_.count(entry);
  for (Slot& slot : slots_)
    MPC_RETURN_IF_ERROR(slot.marks.prepare(gpu_, most_pieces));
  MPC_RETURN_IF_ERROR(create_timing_event(gpu_, &profile_origin_));
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventRecord,
                               profile_origin_.get(), stream_));
  // The stream is idle, so the event happens now.
  profile_origin_ns_ = now_ns();
  profile_ = profile;
  return nullptr;
}

mpc_status_t CudaExecutable::copy_from_device(const Input& input,
                                              uint64_t size) {
  return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyDtoDAsync_v2,
                  addresses_.at(input.buffer->space(), input.buffer->offset()),
                  reinterpret_cast<CUdeviceptr>(input.data), size, stream_);
}

mpc_status_t CudaExecutable::queue_inputs(const Submission& submission,
                                          const Slot& slot) {
  if (host_bytes(submission) >= kLargeInputs)
    return queue_large_inputs(submission, slot);
  if (calls_.copies() && input_bytes(submission) <= kCopiedByKernel)
    return queue_small_inputs(submission, slot);
  uint8_t* pinned = static_cast<uint8_t*>(slot.inputs.get());
  for (size_t i = 0; i < submission.num_inputs; ++i) {
    const Input& input = submission.inputs[i];
    const uint64_t size = bytes_of(*input.buffer);
    if (size == 0) continue;
    if (input.memory_kind == MemoryKind::kDevice) {
      MPC_RETURN_IF_ERROR(copy_from_device(input, size));
      continue;
    }
    std::memcpy(pinned, input.data, size);
    MPC_RETURN_IF_ERROR(
        MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyHtoDAsync_v2,
                 addresses_.at(input.buffer->space(), input.buffer->offset()),
                 pinned, size, stream_));
    pinned += padded(size);
  }
  return nullptr;
}

// Copies all inputs by one kernel, which reads those of the host in pinned
// memory.
mpc_status_t CudaExecutable::queue_small_inputs(const Submission& submission,
                                                const Slot& slot) {
  uint8_t* pinned = static_cast<uint8_t*>(slot.inputs.get());
  kernels::CopyParams pieces = {};
  for (size_t i = 0; i < submission.num_inputs; ++i) {
    const Input& input = submission.inputs[i];
    const uint64_t size = bytes_of(*input.buffer);
    if (size == 0) continue;
    const void* from = input.data;
    if (input.memory_kind == MemoryKind::kHost) {
      std::memcpy(pinned, input.data, size);
      from = pinned;
      pinned += padded(size);
    }
    pieces.pieces[pieces.count++] = {
        reinterpret_cast<uint64_t>(from),
        addresses_.at(input.buffer->space(), input.buffer->offset()), size};
    if (pieces.count < static_cast<int32_t>(kernels::kMaxCopyPieces)) continue;
    MPC_RETURN_IF_ERROR(queue_pieces(pieces, "inputs"));
    pieces.count = 0;
  }
  return pieces.count == 0 ? nullptr : queue_pieces(pieces, "inputs");
}

// Copies all inputs that are on the host at once, on the side stream. The
// landing memory is free: the caller has waited for the submission that used
// it.
mpc_status_t CudaExecutable::queue_large_inputs(const Submission& submission,
                                                const Slot& slot) {
  auto* pinned = static_cast<uint8_t*>(slot.inputs.get());
  uint64_t bytes = 0;
  for (size_t i = 0; i < submission.num_inputs; ++i) {
    const Input& input = submission.inputs[i];
    const uint64_t size = bytes_of(*input.buffer);
    if (size == 0 || input.memory_kind == MemoryKind::kDevice) continue;
    std::memcpy(pinned + bytes, input.data, size);
    bytes += padded(size);
  }
  const CUstream side = side_stream_.get();
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyHtoDAsync_v2,
                               slot.landing.get(), pinned, bytes, side));
  MPC_RETURN_IF_ERROR(
      MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventRecord, slot.landed.get(), side));
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuStreamWaitEvent,
                               stream_, slot.landed.get(), 0));
  CUdeviceptr landed = slot.landing.get();
  for (size_t i = 0; i < submission.num_inputs; ++i) {
    Input input = submission.inputs[i];
    const uint64_t size = bytes_of(*input.buffer);
    if (size == 0) continue;
    if (input.memory_kind == MemoryKind::kHost) {
      input.data = reinterpret_cast<const void*>(landed);
      landed += padded(size);
    }
    MPC_RETURN_IF_ERROR(copy_from_device(input, size));
  }
  return nullptr;
}

// Queues the values that are due after `entries_done` entry points.
mpc_status_t CudaExecutable::queue_values(const Submission& submission,
                                          size_t entries_done, Slot& slot) {
  kernels::CopyParams windows = {};
  for (size_t i = 0; i < submission.num_values; ++i)
    if (!slot.places[i] && due(submission, i) == entries_done)
      windows.pieces[windows.count++] = take_window(submission, i, slot);
  if (windows.count == 0) return nullptr;
  if (calls_.copies()) return queue_pieces(windows, "values");
  for (int32_t i = 0; i < windows.count; ++i) {
    const kernels::CopyPiece& piece = windows.pieces[i];
    MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyDtoHAsync_v2,
                                 reinterpret_cast<void*>(piece.to), piece.from,
                                 piece.bytes, stream_));
  }
  return nullptr;
}

// Copies pieces by one kernel; `what` names them in errors.
mpc_status_t CudaExecutable::queue_pieces(const kernels::CopyParams& pieces,
                                          const char* what) {
  const std::string error = calls_.copies()->enqueue(pieces, stream_);
  if (error.empty()) return nullptr;
  return mpc_status_make(MPC_DEVICE_LOST, "copying %s: %s", what,
                         error.c_str());
}

// Finds the window of value `first` and of nearby values that are due at the
// same time.
kernels::CopyPiece CudaExecutable::take_window(const Submission& submission,
                                               size_t first, Slot& slot) {
  const Value* values = submission.values;
  bool together[kMaxValues] = {};
  uint64_t begin = values[first].offset, end = begin;
  for (size_t i = first; i < submission.num_values; ++i) {
    const Value& value = values[i];
    if (slot.places[i] || value.space != values[first].space ||
        due(submission, i) != due(submission, first))
      continue;
    uint64_t new_begin = std::min(begin, value.offset);
    uint64_t new_end = std::max(end, value.offset + value.size);
    if (new_end - new_begin > kWindow) continue;
    begin = new_begin;
    end = new_end;
    together[i] = true;
  }
  uint8_t* window = static_cast<uint8_t*>(slot.windows.get()) + first * kWindow;
  for (size_t i = first; i < submission.num_values; ++i) {
    if (!together[i]) continue;
    slot.places[i] = window + (values[i].offset - begin);
    slot.sizes[i] = values[i].size;
  }
  return {addresses_.at(values[first].space, begin),
          reinterpret_cast<uint64_t>(window), end - begin};
}

mpc_status_t CudaExecutable::queue_entry(uint32_t entry) {
  if (calls_.count(entry) == 0) return nullptr;
  Graph& graph = graphs_[entry];
  if (!graph.tried) {
    graph.tried = true;
    mpc_status_t status = capture_graph(gpu_, calls_, entry, side_stream_.get(),
                                        &graph.executable);
    // Without a graph the calls are launched one by one, which is slower but
    // equivalent. An error of the device itself will occur there again.
    if (status && !lacks_graphs_) {
      lacks_graphs_ = true;
      note_ += (note_.empty() ? "without CUDA graphs: "
                              : "; without CUDA graphs: ") +
               std::string(mpc_status_message(status));
    }
    mpc_status_free(status);
  }
  if (!graph.executable) return calls_.enqueue_all(entry, stream_);
  return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuGraphLaunch, graph.executable.get(),
                  stream_);
}

mpc_status_t CudaExecutable::wait(Values* out_values) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  const Slot& slot = slots_[num_waited_ % kSlots];
  ++num_waited_;
  MPC_RETURN_IF_ERROR(with_weights_lost(
      MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventSynchronize, slot.done.get())));
  for (size_t i = 0; i < slot.num_values; ++i)
    std::memcpy(&out_values->bits[i], slot.places[i], slot.sizes[i]);
  if (!profile_) return nullptr;
  return with_weights_lost(slot.marks.collect(gpu_, profile_origin_.get(),
                                              profile_origin_ns_, profile_));
}

// Inputs that came from the host are still in pinned memory. Inputs in device
// memory cannot be restored: the caller may have overwritten them.
mpc_status_t CudaExecutable::restore_inputs(size_t later, bool* out_restored) {
  *out_restored = false;
  if (later >= kSlots || later >= num_waited_) return nullptr;
  const Slot& slot = slots_[(num_waited_ - 1 - later) % kSlots];
  for (const Input& input : slot.sources)
    if (input.memory_kind == MemoryKind::kDevice) return nullptr;
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  const uint8_t* pinned = static_cast<const uint8_t*>(slot.inputs.get());
  for (const Input& input : slot.sources) {
    const uint64_t size = bytes_of(*input.buffer);
    if (size == 0) continue;
    MPC_RETURN_IF_ERROR(
        MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyHtoDAsync_v2,
                 addresses_.at(input.buffer->space(), input.buffer->offset()),
                 pinned, size, stream_));
    pinned += padded(size);
  }
  *out_restored = true;
  return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuStreamSynchronize, stream_);
}

mpc_status_t CudaExecutable::trace(uint32_t entry, Observer& observer) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  return with_weights_lost(trace_calls(entry, observer));
}

mpc_status_t CudaExecutable::trace_calls(uint32_t entry, Observer& observer) {
  const auto& instructions = *variant_.entries()->Get(entry)->instructions();
  for (size_t i = 0; i < calls_.count(entry); ++i) {
    const auto& instruction = *instructions.Get(static_cast<uint32_t>(i));
    if (!observer.before(instruction)) break;
    MPC_RETURN_IF_ERROR(calls_.enqueue(entry, i, stream_));
    MPC_RETURN_IF_ERROR(
        MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuStreamSynchronize, stream_));
    if (!observer.after(instruction)) break;
  }
  return nullptr;
}

}  // namespace mpc::runtime
