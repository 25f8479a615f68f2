// Imitates generated code: plain C, with the number of each operation as its
// site.

#include <string.h>

#include "test/device_sim/abi.h"

static const char kName[] = "row_sums";
static char sums_key;

void mpc_test_row_sums(const float* in, float* out, int n) {
  const uint32_t row = mpc_sim_block_index(0);
  const uint32_t thread = mpc_sim_thread_index(0);
  const uint32_t threads = mpc_sim_block_size(0);
  float* sums = mpc_sim_static_shared(&sums_key, "sums", 2 * sizeof(float),
                                      _Alignof(float), kName, 1);
  float sum = 0;
  for (int i = (int)thread; i < n; i += (int)threads)
    sum += in[(int)row * n + i];
  for (uint32_t lanes = 16; lanes > 0; lanes /= 2) {
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits = mpc_sim_shuffle_32(MPC_SIM_SHUFFLE_XOR, 0xffffffff, bits, lanes, 31,
                              NULL, kName, 2);
    float other;
    memcpy(&other, &bits, sizeof other);
    sum += other;
  }
  if (mpc_sim_lane_index() == 0) sums[thread / 32] = sum;
  mpc_sim_block_barrier(kName, 3);
  if (thread == 0) out[row] = sums[0] + sums[1];
}
