#include "kernels/cuda/kernels/copies.h"

#include <algorithm>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {

CudaCopies::CudaCopies(const CudaContext& context) : context_(context) {
  std::string unavailable;
  function_ =
      context_.shared->function(context_, "mpc_copy_pieces", &unavailable);
}

std::string CudaCopies::enqueue(const CopyParams& pieces,
                                cuda::CUstream stream) const {
  uint64_t most = 0;
  for (int32_t i = 0; i < pieces.count; ++i)
    most = std::max(most, pieces.pieces[i].bytes);
  CopyParams params = pieces;
  void* parameters[] = {&params};
  // A thread copies 16 bytes at a time.
  constexpr uint64_t kBytes = 16, kMost = uint64_t{1} << 20;
  return launch(*context_.driver, function_,
                static_cast<int64_t>(std::min(most, kMost) / kBytes + 1),
                stream, parameters);
}

}  // namespace mpc::kernels
