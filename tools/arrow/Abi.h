//===- Abi.h - Arrow's C data interface -------------------------*- C++ -*-===//
//
// The structures of Arrow's C data and stream interfaces. They are a stable ABI
// that Arrow's specification defines for programs to copy, so that they can
// exchange data without Arrow's headers or libraries:
// https://arrow.apache.org/docs/format/CDataInterface.html
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_ARROW_ABI_H
#define MPC_TOOLS_ARROW_ABI_H

#include <cstdint>

extern "C" {

// These names of macros are part of the specification: Arrow's own header
// defines the same structures unless they exist.
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

/// The type of an array. `release` is null when it has been released.
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema **children;
  ArrowSchema *dictionary;
  void (*release)(ArrowSchema *);
  void *private_data;
};

/// The elements of an array: `length` of them from `offset` on. The first
/// buffer usually has a bit for each element, which is 0 if it is null.
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  ArrowArray **children;
  ArrowArray *dictionary;
  void (*release)(ArrowArray *);
  void *private_data;
};

#endif // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

/// Arrays of one type, each of which is a struct with a child for each column.
/// get_schema() and get_next() return 0 or a value of errno; after the last
/// array, get_next() returns one without `release`.
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream *, ArrowSchema *out);
  int (*get_next)(ArrowArrayStream *, ArrowArray *out);
  const char *(*get_last_error)(ArrowArrayStream *);
  void (*release)(ArrowArrayStream *);
  void *private_data;
};

#endif // ARROW_C_STREAM_INTERFACE

} // extern "C"

#endif // MPC_TOOLS_ARROW_ABI_H
