// The entry point for libFuzzer; MPC_FUZZ_TARGET names the target.

#include "test/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mpc::fuzz::MPC_FUZZ_TARGET(data, size);
  return 0;
}
