#include "runtime/src/device/cuda/marks.h"

#include <algorithm>

namespace mpc::runtime {

using namespace mpc::cuda;

mpc_status_t create_timing_event(const Gpu& gpu, CudaEvent* out_event) {
  CUevent event = nullptr;
  MPC_RETURN_IF_ERROR(
      MPC_CUDA(gpu, MPC_UNAVAILABLE, cuEventCreate, &event, CU_EVENT_DEFAULT));
  *out_event = CudaEvent(gpu, event);
  return nullptr;
}

mpc_status_t CudaMarks::prepare(const Gpu& gpu, size_t most_pieces) {
  // Two for each piece, and two for the call.
  std::vector<CudaEvent> events(2 * most_pieces + 2);
  for (CudaEvent& event : events)
    MPC_RETURN_IF_ERROR(create_timing_event(gpu, &event));
  events_ = std::move(events);
  records_.reserve(most_pieces);
  return nullptr;
}

void CudaMarks::reset() {
  events_.clear();
  records_.clear();
  num_marks_ = 0;
}

mpc_status_t CudaMarks::mark(const Gpu& gpu, CUstream stream) {
  return MPC_CUDA(gpu, MPC_DEVICE_LOST, cuEventRecord,
                  events_[num_marks_++].get(), stream);
}

mpc_status_t CudaMarks::begin_call(const Gpu& gpu, CUstream stream) {
  num_marks_ = 0;
  records_.clear();
  return mark(gpu, stream);
}

mpc_status_t CudaMarks::begin_piece(const Gpu& gpu, CUstream stream) {
  return mark(gpu, stream);
}

mpc_status_t CudaMarks::end_piece(const Gpu& gpu, size_t record,
                                  CUstream stream) {
  records_.push_back(record);
  return mark(gpu, stream);
}

mpc_status_t CudaMarks::end_call(const Gpu& gpu, CUstream stream) {
  return mark(gpu, stream);
}

mpc_status_t CudaMarks::time_of(const Gpu& gpu, CUevent origin, size_t mark,
                                double* out_ns) const {
  float milliseconds = 0;
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu, MPC_DEVICE_LOST, cuEventElapsedTime,
                               &milliseconds, origin, events_[mark].get()));
  *out_ns = std::max(0.0, static_cast<double>(milliseconds) * 1e6);
  return nullptr;
}

// Times within a call count from its begin, because an f32 of milliseconds
// since the profile started would become coarse.
mpc_status_t CudaMarks::collect(const Gpu& gpu, CUevent origin,
                                uint64_t origin_ns, Profile* profile) const {
  const CUevent begin_of_call = events_[0].get();
  double start;
  MPC_RETURN_IF_ERROR(time_of(gpu, origin, 0, &start));
  start += static_cast<double>(origin_ns);
  const auto at = [&](double ns) { return static_cast<uint64_t>(start + ns); };
  profile->begin_call(at(0));
  for (size_t i = 0; i < records_.size(); ++i) {
    double begin, end;
    MPC_RETURN_IF_ERROR(time_of(gpu, begin_of_call, 2 * i + 1, &begin));
    MPC_RETURN_IF_ERROR(time_of(gpu, begin_of_call, 2 * i + 2, &end));
    profile->add(records_[i], at(begin), at(std::max(begin, end)));
  }
  double end_of_call;
  MPC_RETURN_IF_ERROR(
      time_of(gpu, begin_of_call, num_marks_ - 1, &end_of_call));
  profile->end_call(at(end_of_call));
  return nullptr;
}

}  // namespace mpc::runtime
