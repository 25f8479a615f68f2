// Kernels that demonstrate and test the simulator; sample_kernels.cu also
// compiles with nvcc. Each function launches a kernel and returns the error of
// the launch.

#ifndef MPC_TEST_DEVICE_SIM_SELF_TEST_SAMPLE_KERNELS_H_
#define MPC_TEST_DEVICE_SIM_SELF_TEST_SAMPLE_KERNELS_H_

#include <cstdint>
#include <string>

namespace mpc::device_sim::samples {

// out[0] is the sum of 1024 values, by shuffles.
std::string sum_1024(const float* in, float* out);

// out[c][r] = in[r][c], 32x32 tiles through shared memory.
std::string transpose(const float* in, float* out, int rows, int columns);
// The same without the barrier.
std::string transpose_racing(const float* in, float* out, int rows,
                             int columns);

// out[c] is the sum over rows, in two steps with `parts` parts of rows; partial
// has parts x columns values.
std::string sum_columns(const float* in, float* partial, float* out, int rows,
                        int columns, int parts);

// histogram[v % bins] counts values; *largest is the maximum.
std::string histogram(const unsigned* in, int n, unsigned* bins_out, int bins,
                      unsigned* largest);

// Reverses rows of n values in dynamic shared memory, four at a time.
std::string reverse_rows(const float* in, float* out, int rows, int n);

// Reverses rows of 128 values in plain __shared__ memory.
std::string plain_shared(const float* in, float* out, int rows);

}  // namespace mpc::device_sim::samples

#endif  // MPC_TEST_DEVICE_SIM_SELF_TEST_SAMPLE_KERNELS_H_
