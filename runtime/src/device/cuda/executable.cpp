#include "runtime/src/device/cuda/executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/src/device/cuda/graph.h"

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

// Inputs start at multiples of this in pinned memory.
uint64_t padded(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Says what a failure in a step means to the caller.
mpc_status_t lost(mpc_status_t status) {
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
  // Nothing may be in use when it goes.
  if (num_submitted_ > 0) (void)gpu_.driver().cuStreamSynchronize(stream_);
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

mpc_status_t CudaExecutable::prepare(const schema::Segment* code,
                                     bool deterministic) {
  MPC_RETURN_IF_ERROR(create_stream(gpu_, &side_stream_));
  MPC_RETURN_IF_ERROR(calls_.prepare(code, side_stream_.get(), deterministic));
  for (Slot& slot : slots_) {
    MPC_RETURN_IF_ERROR(allocate_pinned(gpu_, most_input_bytes(),
                                        "inputs on their way", &slot.inputs));
    MPC_RETURN_IF_ERROR(
        allocate_pinned(gpu_, sizeof(Values), "what steps tell", &slot.values));
    MPC_RETURN_IF_ERROR(create_event(gpu_, &slot.done));
  }
  graphs_.resize(variant_.entries()->size());
  return nullptr;
}

mpc_status_t CudaExecutable::submit(const Submission& submission) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  // Free: the submission of before the last was waited for.
  const Slot& slot = slots_[num_submitted_ % kSlots];
  ++num_submitted_;
  return lost(queue(submission, slot));
}

mpc_status_t CudaExecutable::queue(const Submission& submission,
                                   const Slot& slot) {
  MPC_RETURN_IF_ERROR(queue_inputs(submission, slot));
  MPC_RETURN_IF_ERROR(queue_values(submission, 0, slot));
  for (size_t i = 0; i < submission.num_entries; ++i) {
    MPC_RETURN_IF_ERROR(queue_entry(submission.entries[i]));
    MPC_RETURN_IF_ERROR(queue_values(submission, i + 1, slot));
  }
  return MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventRecord, slot.done.get(),
                  stream_);
}

mpc_status_t CudaExecutable::queue_inputs(const Submission& submission,
                                          const Slot& slot) {
  uint8_t* pinned = static_cast<uint8_t*>(slot.inputs.get());
  for (size_t i = 0; i < submission.num_inputs; ++i) {
    const Input& input = submission.inputs[i];
    const uint64_t size = bytes_of(*input.buffer);
    if (size == 0) continue;
    CUdeviceptr to =
        addresses_.at(input.buffer->space(), input.buffer->offset());
    if (input.place == Place::kDevice) {
      MPC_RETURN_IF_ERROR(
          MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyDtoDAsync_v2, to,
                   reinterpret_cast<CUdeviceptr>(input.data), size, stream_));
      continue;
    }
    std::memcpy(pinned, input.data, size);
    MPC_RETURN_IF_ERROR(MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuMemcpyHtoDAsync_v2,
                                 to, pinned, size, stream_));
    pinned += padded(size);
  }
  return nullptr;
}

// The values that are due when so many entry points have run.
mpc_status_t CudaExecutable::queue_values(const Submission& submission,
                                          size_t entries_done,
                                          const Slot& slot) {
  auto* values = static_cast<Values*>(slot.values.get());
  for (size_t i = 0; i < submission.num_values; ++i) {
    const Value& value = submission.values[i];
    if (std::min<size_t>(value.after, submission.num_entries) != entries_done)
      continue;
    MPC_RETURN_IF_ERROR(MPC_CUDA(
        gpu_, MPC_DEVICE_LOST, cuMemcpyDtoHAsync_v2, &values->bits[i],
        addresses_.at(value.space, value.offset), value.size, stream_));
  }
  return nullptr;
}

mpc_status_t CudaExecutable::queue_entry(uint32_t entry) {
  if (calls_.count(entry) == 0) return nullptr;
  Graph& graph = graphs_[entry];
  if (!graph.tried) {
    graph.tried = true;
    mpc_status_t status = capture_graph(gpu_, calls_, entry, side_stream_.get(),
                                        &graph.executable);
    // The same launches one by one do the same, only slower. What is wrong with
    // the device itself shows there again.
    if (status && note_.empty())
      note_ = std::string("without CUDA graphs: ") + mpc_status_message(status);
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
  MPC_RETURN_IF_ERROR(lost(
      MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuEventSynchronize, slot.done.get())));
  std::memcpy(out_values, slot.values.get(), sizeof(*out_values));
  return nullptr;
}

mpc_status_t CudaExecutable::trace(uint32_t entry, Observer& observer) {
  ContextScope scope(gpu_);
  MPC_RETURN_IF_ERROR(scope.take_status());
  return lost(trace_calls(entry, observer));
}

mpc_status_t CudaExecutable::trace_calls(uint32_t entry, Observer& observer) {
  for (size_t i = 0; i < calls_.count(entry); ++i) {
    MPC_RETURN_IF_ERROR(calls_.enqueue(entry, i, stream_));
    MPC_RETURN_IF_ERROR(
        MPC_CUDA(gpu_, MPC_DEVICE_LOST, cuStreamSynchronize, stream_));
    const auto& instructions = *variant_.entries()->Get(entry)->instructions();
    if (!observer.after(*instructions.Get(static_cast<uint32_t>(i)))) break;
  }
  return nullptr;
}

}  // namespace mpc::runtime
