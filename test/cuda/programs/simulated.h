// A GPU for programs that were compiled for the simulator.

#ifndef MPC_TEST_CUDA_PROGRAMS_SIMULATED_H_
#define MPC_TEST_CUDA_PROGRAMS_SIMULATED_H_

#include <memory>

namespace mpc::test {

// While it exists, "cuda" is a fake driver in host memory: generated kernels
// and our own catalog kernels run in test/device_sim, and the libraries are
// fakes that compute according to their descriptors. Only one may exist at a
// time.
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
