//===- OpenData.h - Open data in any format ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_OPENDATA_H
#define MPC_TOOLS_MPC_DATA_SOURCES_OPENDATA_H

#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/data/sources/DataSource.h"

namespace mpc::tool {

/// What --data accepts, for help texts.
inline constexpr char kDataFormats[] =
    ".npz, .npy, .safetensors, .csv, .tsv, .jsonl, .parquet, .arrow or .txt "
    "file, files separated by commas, a folder of them, or a pattern "
    "('part-*.npz')";

/// Opens what `options.open` returns, if it is set; a file; several files with
/// different arrays, separated by commas; a folder of .npy files; or a folder
/// or a pattern of other files of one format, which follow each other. A file
/// with an unknown extension is an .npz file.
std::unique_ptr<DataSource> openData(const DataOptions &options);

/// The arrays of a source under the names of inputs, according to --map. If
/// there are `inputs`, an input that no column is named after takes the columns
/// of a table that are left, and `notes` receives their names.
std::unique_ptr<DataSource> selectArrays(std::unique_ptr<DataSource> source,
                                         const DataOptions &options,
                                         const std::vector<Binding> &inputs,
                                         std::vector<std::string> &notes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_OPENDATA_H
