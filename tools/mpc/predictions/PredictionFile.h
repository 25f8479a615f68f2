//===- PredictionFile.h - Write predictions ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PREDICTIONS_PREDICTIONFILE_H
#define MPC_TOOLS_MPC_PREDICTIONS_PREDICTIONFILE_H

#include "tools/npz/Npz.h"

#include <map>
#include <string>
#include <vector>

namespace mpc::tool {

/// The names of the classes whose numbers an array contains, by arrays.
using ClassesOfArrays = std::map<std::string, std::vector<std::string>>;

/// Throws a Failure unless the extension of `output` is one that
/// writePredictions knows and can write, or there is none.
void checkPredictionFile(const std::string &output);

/// Writes arrays to a place (resolveOutputPath), in the format of the extension
/// of `output`: .npz, also if there is none; .npy, for one
/// array; .csv, with a row for each sample and columns "y" or "y_0", "y_1",
/// ...; .jsonl, with an object for each sample; or .parquet. Text has as many
/// digits as are needed to read the same numbers again; classes with names are
/// written by name. Throws a Failure if the arrays do not fit the format.
void writePredictions(const std::string &output, const std::string &place,
                      const npz::Arrays &arrays,
                      const ClassesOfArrays &classes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PREDICTIONS_PREDICTIONFILE_H
