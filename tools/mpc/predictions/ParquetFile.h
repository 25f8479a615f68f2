//===- ParquetFile.h - Write arrays as Parquet ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PREDICTIONS_PARQUETFILE_H
#define MPC_TOOLS_MPC_PREDICTIONS_PARQUETFILE_H

#include "tools/npz/Npz.h"

#include <map>
#include <string>
#include <vector>

namespace mpc::tool {

/// The bytes of a Parquet file with a column for each array and a row for each
/// element of their first dimension; further dimensions become lists of a fixed
/// size. Arrays in `texts` are written as these texts instead of their
/// elements. `path` names the file in errors.
std::string
formatParquet(const std::string &path, const npz::Arrays &arrays,
              const std::map<std::string, std::vector<std::string>> &texts);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PREDICTIONS_PARQUETFILE_H
