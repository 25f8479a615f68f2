// Replaces malloc and related functions for a whole program and its libraries.
// A program that links heap.cpp defines the three functions below.

#ifndef MPC_TEST_RUNTIME_HEAP_H_
#define MPC_TEST_RUNTIME_HEAP_H_

#include <cstddef>

namespace mpc::test {

// False with sanitizers, which replace the same functions: the functions below
// are then never called.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kReplacesHeap = false;
#else
inline constexpr bool kReplacesHeap = true;
#endif

// Returns true if an allocation of `size` bytes must fail.
bool on_allocate(size_t size);
// Called with the result of an allocation, which may be null.
void on_allocated(void* memory);
// Called before `memory`, which may be null, is freed or moved.
void on_free(void* memory);

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_HEAP_H_
