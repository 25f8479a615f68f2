//===- Files.h - Sources for arrays in files --------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_FILES_H
#define MPC_TOOLS_MPC_DATA_SOURCES_FILES_H

#include "tools/mpc/data/sources/DataSource.h"
#include "tools/mpc/data/sources/TextColumn.h"

namespace mpc::tool {

/// An .npz file. Stored arrays that do not fit in memory are copied to a
/// temporary file.
std::unique_ptr<DataSource> openNpz(const std::string &path);

/// A .npy file; its array has the name of the file, without the extension.
std::unique_ptr<DataSource> openNpy(const std::string &path);

/// A .safetensors file.
std::unique_ptr<DataSource> openSafetensors(const std::string &path);

/// Arrays in memory.
std::unique_ptr<DataSource> openArrays(const std::string &path,
                                       npz::Arrays arrays);

/// A table: a .csv file with commas, semicolons or tabs between the cells of a
/// line, or .tsv with tabs. The first line has the names of the columns; cells
/// may be quoted as in RFC 4180. A column of numbers is int64 if all of them
/// are whole, and float64 otherwise; a column of other texts contains classes.
std::unique_ptr<DataSource> openTable(const std::string &path,
                                      const ClassNames &classes);

/// JSON lines: each line is an object with the same keys, whose values are
/// numbers, texts (classes), or arrays of numbers of equal shapes.
std::unique_ptr<DataSource> openJsonLines(const std::string &path,
                                          const ClassNames &classes);

/// A Parquet file or an Arrow IPC file or stream, also called Feather: columns
/// of numbers, bools, texts (classes), and lists of equal lengths. Throws a
/// Failure if this mpc was installed without Apache Arrow.
std::unique_ptr<DataSource> openArrowFile(const std::string &path,
                                          const ClassNames &classes);

/// The arrays of several sources together. Throws a Failure if two of them have
/// an array of the same name.
std::unique_ptr<DataSource>
joinSources(const std::string &path,
            std::vector<std::unique_ptr<DataSource>> sources);

/// Sources with the same arrays, one after the other.
std::unique_ptr<DataSource>
concatenateSources(const std::string &path,
                   std::vector<std::unique_ptr<DataSource>> sources);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_FILES_H
