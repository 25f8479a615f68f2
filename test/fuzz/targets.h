// Fuzz targets for readers of untrusted bytes. libFuzzer runs them, and tests
// run them on the corpora in this folder. Each returns normally for any bytes.

#ifndef MPC_TEST_FUZZ_TARGETS_H
#define MPC_TEST_FUZZ_TARGETS_H

#include <cstddef>
#include <cstdint>

namespace mpc::fuzz {

// A package without its seal, with which every changed bit would be rejected.
void package(const uint8_t *data, size_t size);

// The three files of a checkpoint, each preceded by its size (4 bytes,
// little-endian). A checkpoint that passes verification can be loaded or
// belongs to another program.
void checkpoint(const uint8_t *data, size_t size);

// A .npz file.
void npz(const uint8_t *data, size_t size);

// Other data, after a letter: n for .npy, s for .safetensors, j for .jsonl, a for
// Arrow and Parquet, i for an image, and anything else for a table.
void data(const uint8_t *data, size_t size);

// An ONNX model in protobuf's binary form.
void import(const uint8_t *data, size_t size);

} // namespace mpc::fuzz

#endif // MPC_TEST_FUZZ_TARGETS_H
