// Functions that device code calls when it runs on the host: one C function for
// each operation of `gpu`, `nvvm` or CUDA that involves other threads.
// Generated kernels call them directly; <cuda_runtime.h> in cuda/ maps CUDA's
// names to them.
//
// Only device code under device_sim::run may call them; elsewhere they end the
// program with a message. A misuse by device code ends the launch with an error
// that its caller receives; the function does not return.

#ifndef MPC_TEST_DEVICE_SIM_ABI_H_
#define MPC_TEST_DEVICE_SIM_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uint32_t x, y, z;
} mpc_sim_index_t;

typedef struct {
  mpc_sim_index_t thread, block, block_size, grid_size;
} mpc_sim_position_t;

// The position of the running thread in the grid; device code only reads it.
extern __thread mpc_sim_position_t mpc_sim_position;

// The same by axis: 0 is x, 1 is y, 2 is z.
uint32_t mpc_sim_thread_index(uint32_t axis);
uint32_t mpc_sim_block_index(uint32_t axis);
uint32_t mpc_sim_block_size(uint32_t axis);
uint32_t mpc_sim_grid_size(uint32_t axis);
// 0 to 31: threads are counted along x first, then y, then z.
uint32_t mpc_sim_lane_index(void);

// `file` and `line` are the site of an operation: for messages, and to
// distinguish block barriers. A code generator without source files passes the
// kernel's name (or NULL) and the number of the operation. The text must
// outlive the launch.

// Waits for all threads of the block that have not exited. All must reach the
// same site.
void mpc_sim_block_barrier(const char* file, int32_t line);

// The warp operations wait for all lanes of `mask` that have not exited. These
// must reach the same operation with the same mask, but not necessarily the
// same site. The calling lane must be in `mask`.
void mpc_sim_warp_barrier(uint32_t mask, const char* file, int32_t line);

// The numbers are those of the dialects gpu and nvvm.
enum {
  MPC_SIM_SHUFFLE_XOR = 0,
  MPC_SIM_SHUFFLE_UP = 1,
  MPC_SIM_SHUFFLE_DOWN = 2,
  MPC_SIM_SHUFFLE_IDX = 3
};
// PTX shfl.sync: `lane` is its b, `clamp` its c (bits 0-4 the clamp, bits 8-12
// the segment mask). *out_in_range, which may be NULL, is its predicate.
// Reading a lane that is not in `mask`, has exited or does not exist is an
// error.
uint32_t mpc_sim_shuffle_32(uint32_t mode, uint32_t mask, uint32_t value,
                            uint32_t lane, uint32_t clamp,
                            uint8_t* out_in_range, const char* file,
                            int32_t line);
uint64_t mpc_sim_shuffle_64(uint32_t mode, uint32_t mask, uint64_t value,
                            uint32_t lane, uint32_t clamp,
                            uint8_t* out_in_range, const char* file,
                            int32_t line);

enum { MPC_SIM_VOTE_ANY = 0, MPC_SIM_VOTE_ALL = 1, MPC_SIM_VOTE_BALLOT = 2 };
// any and all return 0 or 1; ballot returns a bit for each lane.
uint32_t mpc_sim_vote(uint32_t kind, uint32_t mask, uint32_t predicate,
                      const char* file, int32_t line);

enum { MPC_SIM_E4M3 = 0, MPC_SIM_E5M2 = 1 };
// PTX cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32: `high` in the upper byte, `low` in
// the lower one. May also be called outside of launches.
uint16_t mpc_sim_round_to_fp8(uint32_t format, float high, float low);

// The dynamic shared memory of the block, aligned to 16 bytes.
void* mpc_sim_dynamic_shared(const char* file, int32_t line);
// Its size in bytes; 0 if the launch gives none.
uint32_t mpc_sim_dynamic_shared_bytes(void);
// An array in static shared memory. `key` is an address that identifies the
// array in all threads; `name` is for messages.
void* mpc_sim_static_shared(const void* key, const char* name, uint64_t bytes,
                            uint64_t alignment, const char* file, int32_t line);

// Atomics return the old value.
int32_t mpc_sim_atomic_add_i32(int32_t* address, int32_t value);
int64_t mpc_sim_atomic_add_i64(int64_t* address, int64_t value);
float mpc_sim_atomic_add_f32(float* address, float value);
double mpc_sim_atomic_add_f64(double* address, double value);
int32_t mpc_sim_atomic_max_i32(int32_t* address, int32_t value);
uint32_t mpc_sim_atomic_max_u32(uint32_t* address, uint32_t value);
int64_t mpc_sim_atomic_max_i64(int64_t* address, int64_t value);
uint64_t mpc_sim_atomic_max_u64(uint64_t* address, uint64_t value);
uint32_t mpc_sim_atomic_exchange_32(uint32_t* address, uint32_t value);
uint64_t mpc_sim_atomic_exchange_64(uint64_t* address, uint64_t value);
uint32_t mpc_sim_atomic_cas_32(uint32_t* address, uint32_t expected,
                               uint32_t value);
uint64_t mpc_sim_atomic_cas_64(uint64_t* address, uint64_t expected,
                               uint64_t value);

// Ends the launch with this error.
#ifdef __cplusplus
[[noreturn]]
#else
_Noreturn
#endif
void mpc_sim_trap(const char* message, const char* file, int32_t line);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MPC_TEST_DEVICE_SIM_ABI_H_
