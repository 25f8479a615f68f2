// Events around the pieces of work of a submission, which measure their times
// on the device.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_MARKS_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_MARKS_H_

#include <cstddef>
#include <vector>

#include "runtime/src/device/cuda/resources.h"
#include "runtime/src/device/profile.h"

namespace mpc::runtime {

class CudaMarks {
 public:
  // Creates the events for at most `most_pieces` pieces.
  mpc_status_t prepare(const Gpu& gpu, size_t most_pieces);
  void reset();  // Destroys the events.

  // All of these record an event on `stream`. Pieces lie between begin_call()
  // and end_call() and do not overlap.
  mpc_status_t begin_call(const Gpu& gpu, cuda::CUstream stream);
  mpc_status_t begin_piece(const Gpu& gpu, cuda::CUstream stream);
  mpc_status_t end_piece(const Gpu& gpu, size_t record, cuda::CUstream stream);
  mpc_status_t end_call(const Gpu& gpu, cuda::CUstream stream);

  // Adds the times of the call to the profile. The device must have finished
  // it. `origin` is an event at the time `origin_ns` of now_ns().
  mpc_status_t collect(const Gpu& gpu, cuda::CUevent origin, uint64_t origin_ns,
                       Profile* profile) const;

 private:
  mpc_status_t mark(const Gpu& gpu, cuda::CUstream stream);
  mpc_status_t time_of(const Gpu& gpu, cuda::CUevent origin, size_t mark,
                       double* out_ns) const;

  std::vector<CudaEvent> events_;
  size_t num_marks_ = 0;
  std::vector<size_t> records_;  // One for each piece, in order.
};

// Creates an event that measures time.
mpc_status_t create_timing_event(const Gpu& gpu, CudaEvent* out_event);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_MARKS_H_
