// Stands in for the code that nvcc makes, so that the simulator's kernels are
// tested where there is no nvcc.

#ifndef MPC_TEST_CUDA_TEST_IMAGES_H_
#define MPC_TEST_CUDA_TEST_IMAGES_H_

namespace mpc::test {

// What device_images() of this program answers: one image, or none.
void set_images(bool present);

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_TEST_IMAGES_H_
