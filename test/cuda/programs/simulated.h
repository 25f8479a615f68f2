// A GPU for programs that were compiled for the simulator.

#ifndef MPC_TEST_CUDA_PROGRAMS_SIMULATED_H_
#define MPC_TEST_CUDA_PROGRAMS_SIMULATED_H_

#include <memory>

namespace mpc::test {

// While it lives, "cuda" is a driver over host memory: generated kernels run in
// test/device_sim, as do our own of the catalog; its libraries are fakes that
// compute from what they are told. One at a time.
class SimulatedDevice {
 public:
  SimulatedDevice();
  ~SimulatedDevice();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_PROGRAMS_SIMULATED_H_
