//===- ArrowFiles.h - The functions of libmpcarrow --------------*- C++ -*-===//
//
// libmpcarrow is the only part of mpc that is linked with Apache Arrow. mpc
// loads it when it is given a Parquet or Arrow file, so that it runs without
// Arrow. All data crosses this boundary in Arrow's C data interface.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_ARROW_ARROWFILES_H
#define MPC_TOOLS_ARROW_ARROWFILES_H

#include "tools/arrow/Abi.h"

#include <cstddef>

namespace mpc::arrow {

/// The file name of the library, which is in mpc/ next to libmpctrain, and in
/// ../lib/mpc from the folder of mpc.
inline constexpr char kLibrary[] = "libmpcarrow.so";

/// The column to open for the types of all columns without any values.
inline constexpr int64_t kTypesOnly = -1;

/// Opens one column of a Parquet file or of an Arrow IPC file or stream, by its
/// index, or only the types of all columns. Sets `rows` to the number of rows.
/// Returns true and a stream that the caller must release, or false and a
/// message, cut to `errorSize` bytes. Arrays of the stream have been validated:
/// no offset or index in them leaves a buffer.
using OpenFile = bool(const char *path, int64_t column,
                      ArrowArrayStream *stream, int64_t *rows, char *error,
                      size_t errorSize);
inline constexpr char kOpenFile[] = "mpc_arrow_open_file";

/// Formats a stream, which it releases, as a Parquet file, and calls `take`
/// once with `context` and the bytes of the file.
using FormatParquet = bool(ArrowArrayStream *stream,
                           void (*take)(void *context, const char *bytes,
                                        size_t size),
                           void *context, char *error, size_t errorSize);
inline constexpr char kFormatParquet[] = "mpc_arrow_format_parquet";

} // namespace mpc::arrow

extern "C" {
mpc::arrow::OpenFile mpc_arrow_open_file;
mpc::arrow::FormatParquet mpc_arrow_format_parquet;
}

#endif // MPC_TOOLS_ARROW_ARROWFILES_H
