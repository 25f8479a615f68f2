#include "runtime/src/device/device.h"

namespace mpc::runtime {

mpc_status_t open_cuda_device(int, const mpc_program_t&, const schema::Variant&,
                              const DeviceOptions&, std::unique_ptr<Device>*) {
  return mpc_status_make(MPC_UNAVAILABLE,
                         "this runtime was built without CUDA devices");
}

}  // namespace mpc::runtime
