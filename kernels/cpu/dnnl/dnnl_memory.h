// Memory for oneDNN when the system has none left.
//
// oneDNN uses many results of malloc, posix_memalign and mmap without checking
// them, and crashes if one is null. If operator new throws while a primitive is
// made, oneDNN's cache keeps an entry that points to freed memory. Its calls of
// these functions are therefore redirected to replacements that fall back to
// memory set aside in advance.

#ifndef MPC_KERNELS_CPU_DNNL_DNNL_MEMORY_H_
#define MPC_KERNELS_CPU_DNNL_DNNL_MEMORY_H_

#include <cstdint>

namespace mpc::kernels::cpu {

// Sets memory aside, refilling what was used, and redirects oneDNN's
// allocations. Call it before a kernel is made. Throws std::bad_alloc if there
// is not enough memory.
void prepare_dnnl_memory();

// The number of oneDNN's allocations on this thread that used the memory set
// aside.
uint64_t dnnl_allocations_set_aside();

// Clears oneDNN's primitive cache, which returns the memory set aside that it
// holds.
void clear_dnnl_cache();

// Whether an exception passed through oneDNN while it made a primitive. Its
// cache may then have an entry that must not be used.
bool is_dnnl_damaged();
void set_dnnl_damaged();

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_DNNL_DNNL_MEMORY_H_
