// The fake driver's streams, events and graphs.

#include "test/cuda/fake/fake_state.h"

namespace mpc::test {

using namespace mpc::cuda;
using State = FakeDriver::State;

FakeStream* State::find_stream(CUstream handle) {
  return handle ? streams.find(handle) : &default_stream;
}

CUresult State::enqueue(CUstream handle, FakeOperation work) {
  FakeStream* stream = find_stream(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    stream->capture->nodes.push_back(std::move(work));
    return CUDA_SUCCESS;
  }
  stream->work.push_back(std::move(work));
  if (!options.delayed) run(stream);
  return CUDA_SUCCESS;
}

void State::run(FakeStream* stream, const FakeEvent* event, uint64_t record) {
  while (!stream->work.empty() && (!event || event->happened < record)) {
    FakeOperation work = std::move(stream->work.front());
    stream->work.pop_front();
    // A broken device does no more work, but events still occur.
    CUresult result = work();
    if (result == CUDA_ERROR_NOT_READY) {
      stream->work.push_front(std::move(work));
      return;
    }
    if (result != CUDA_SUCCESS && broken == CUDA_SUCCESS) broken = result;
  }
}

void State::run_all() {
  run(&default_stream);
  streams.for_each([this](FakeStream& stream) { run(&stream); });
}

CUresult State::cuStreamCreate(CUstream* stream, unsigned) {
  *stream = reinterpret_cast<CUstream>(streams.add());
  return CUDA_SUCCESS;
}

CUresult State::cuStreamDestroy_v2(CUstream handle) {
  FakeStream* stream = streams.find(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  run(stream);
  events.for_each([stream](FakeEvent& event) {
    if (event.stream == stream) event.stream = nullptr;
  });
  streams.remove(handle);
  return CUDA_SUCCESS;
}

CUresult State::cuStreamQuery(CUstream handle) {
  const FakeStream* stream = find_stream(handle);
  if (stream && !stream->capture) {
    run(find_stream(handle));
    if (!stream->work.empty() && broken == CUDA_SUCCESS)
      return CUDA_ERROR_NOT_READY;
  }
  return cuStreamSynchronize(handle);
}

CUresult State::cuStreamSynchronize(CUstream handle) {
  FakeStream* stream = find_stream(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) {
    stream->capture_broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  run(stream);
  // CUDA would wait; here others could not run meanwhile.
  if (!stream->work.empty())
    return refuse(CUDA_ERROR_NOT_READY, "cuStreamSynchronize waits for others");
  return broken;
}

CUresult State::cuStreamWaitEvent(CUstream handle, CUevent event_handle,
                                  unsigned) {
  FakeEvent* event = events.find(event_handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  return enqueue(handle, [this, event, record = event->queued] {
    if (event->stream) run(event->stream, event, record);
    return CUDA_SUCCESS;
  });
}

CUresult State::cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode) {
  FakeStream* stream = find_stream(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  // As in CUDA, the legacy stream cannot capture.
  if (!options.can_capture || !handle || stream->capture)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  stream->capture = std::make_unique<FakeGraph>();
  stream->capture_broken = false;
  return CUDA_SUCCESS;
}

CUresult State::cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  FakeStream* stream = find_stream(handle);
  *graph = nullptr;
  if (!stream || !stream->capture) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<FakeGraph> captured = std::move(stream->capture);
  if (stream->capture_broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  FakeGraph* made = graphs.add();
  *made = std::move(*captured);
  *graph = reinterpret_cast<CUgraph>(made);
  return CUDA_SUCCESS;
}

void State::abandon_capture(CUstream handle, CUgraph* graph) {
  if (FakeStream* stream = find_stream(handle)) stream->capture.reset();
  *graph = nullptr;
}

CUresult State::cuStreamIsCapturing(CUstream handle,
                                    CUstreamCaptureStatus* status) {
  FakeStream* stream = find_stream(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  *status = !stream->capture         ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture_broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                     : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult State::cuEventCreate(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(events.add());
  return CUDA_SUCCESS;
}

CUresult State::cuEventRecord(CUevent handle, CUstream stream_handle) {
  FakeEvent* event = events.find(handle);
  FakeStream* stream = find_stream(stream_handle);
  if (!event || !stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  event->stream = stream;
  uint64_t record = ++event->queued;
  return enqueue(stream_handle, [this, handle, record] {
    FakeEvent* living = events.find(handle);
    if (!living) return CUDA_SUCCESS;
    living->happened = record;
    living->time = ++clock;
    return CUDA_SUCCESS;
  });
}

CUresult State::cuEventQuery(CUevent handle) {
  return cuEventSynchronize(handle);
}

CUresult State::cuEventSynchronize(CUevent handle) {
  FakeEvent* event = events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->stream) run(event->stream, event, event->queued);
  return broken;
}

// One microsecond has passed for each event that occurred.
CUresult State::cuEventElapsedTime(float* milliseconds, CUevent begin_handle,
                                   CUevent end_handle) {
  FakeEvent* first = events.find(begin_handle);
  FakeEvent* last = events.find(end_handle);
  if (!first || !last) return CUDA_ERROR_INVALID_HANDLE;
  if (first->happened < first->queued || last->happened < last->queued)
    return CUDA_ERROR_NOT_READY;
  *milliseconds = static_cast<float>(last->time - first->time) * 1e-3f;
  return CUDA_SUCCESS;
}

CUresult State::cuEventDestroy_v2(CUevent handle) {
  return events.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuGraphInstantiateWithFlags(CUgraphExec* executable,
                                            CUgraph handle,
                                            unsigned long long) {
  FakeGraph* graph = graphs.find(handle);
  if (!graph) return CUDA_ERROR_INVALID_HANDLE;
  FakeGraphExec* made = graph_execs.add();
  made->graph = std::make_shared<FakeGraph>(*graph);
  *executable = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

CUresult State::cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  FakeGraphExec* executable = graph_execs.find(handle);
  if (!executable) return CUDA_ERROR_INVALID_HANDLE;
  return enqueue(stream, [graph = executable->graph] {
    for (const FakeOperation& node : graph->nodes) {
      CUresult result = node();
      if (result != CUDA_SUCCESS) return result;
    }
    return CUDA_SUCCESS;
  });
}

CUresult State::cuGraphExecDestroy(CUgraphExec handle) {
  return graph_execs.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult State::cuGraphDestroy(CUgraph handle) {
  return graphs.remove(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace mpc::test
