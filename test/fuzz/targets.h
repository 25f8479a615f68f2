// What readers of foreign bytes are given by libFuzzer, and by tests from the
// corpora beside this file. Each returns normally whatever the bytes are.

#ifndef MPC_TEST_FUZZ_TARGETS_H
#define MPC_TEST_FUZZ_TARGETS_H

#include <cstddef>
#include <cstdint>

namespace mpc::fuzz {

// A package without its seal, which would keep every changed bit out.
void package(const uint8_t *data, size_t size);

// The three files of a checkpoint, each behind its size (4 bytes,
// little-endian): what is verified as good can be loaded or belongs to another
// program.
void checkpoint(const uint8_t *data, size_t size);

// A .npz file.
void npz(const uint8_t *data, size_t size);

// An ONNX model in protobuf's binary form.
void import(const uint8_t *data, size_t size);

} // namespace mpc::fuzz

#endif // MPC_TEST_FUZZ_TARGETS_H
