// MPC_DEVICE_SIM_ASAN is 1 in builds with AddressSanitizer, otherwise 0.

#ifndef MPC_TEST_DEVICE_SIM_ASAN_H_
#define MPC_TEST_DEVICE_SIM_ASAN_H_

#if defined(__SANITIZE_ADDRESS__)
#define MPC_DEVICE_SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MPC_DEVICE_SIM_ASAN 1
#endif
#endif
#ifndef MPC_DEVICE_SIM_ASAN
#define MPC_DEVICE_SIM_ASAN 0
#endif

#endif  // MPC_TEST_DEVICE_SIM_ASAN_H_
