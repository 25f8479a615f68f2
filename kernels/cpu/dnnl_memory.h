// Memory for oneDNN where the system has none left.
//
// oneDNN uses much of what malloc, posix_memalign and mmap return without a
// look at it, and crashes where that is null. Where operator new throws while a
// primitive is made, oneDNN's cache keeps an entry that points to what is gone.
// So its calls of these go through functions of ours, which fall back to memory
// that was set aside.

#ifndef MPC_KERNELS_CPU_DNNL_MEMORY_H_
#define MPC_KERNELS_CPU_DNNL_MEMORY_H_

#include <cstdint>

namespace mpc::kernels::cpu {

// Sets memory aside, as far as it is not, and redirects oneDNN's allocations to
// functions that know of it. Call it before a kernel is made. Throws
// std::bad_alloc where there is not enough.
void prepare_dnnl_memory();

// Allocations of oneDNN on this thread that were given what was set aside.
uint64_t dnnl_allocations_set_aside();

// Has oneDNN forget the primitives that it keeps for later, and with them what
// they have of the memory that was set aside.
void clear_dnnl_cache();

// Whether an exception went through oneDNN while it made a primitive: its cache
// may have an entry that must not be looked at.
bool is_dnnl_damaged();
void set_dnnl_damaged();

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_DNNL_MEMORY_H_
