// Imitates a kernel that the compiler made for the simulator.

#include <stddef.h>
#include <stdint.h>

#include "test/device_sim/abi.h"

// values[i] = the sum of values over the block, for a block of 64 threads.
// parameters: values[blocks * 64]
void sum_of_block(void* const* parameters) {
  float* values = *(float**)parameters[0];
  static const char key;
  float* shared = mpc_sim_static_shared(&key, "shared", 64 * sizeof(float), 16,
                                        "sum_of_block", 0);
  uint32_t thread = mpc_sim_thread_index(0);
  uint32_t place = mpc_sim_block_index(0) * 64 + thread;
  shared[thread] = values[place];
  mpc_sim_block_barrier("sum_of_block", 1);
  float sum = 0;
  for (int i = 0; i < 64; ++i) sum += shared[i];
  values[place] = sum;
}
