//===- ConfusionTable.h - A confusion matrix as text ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_CONFUSIONTABLE_H
#define MPC_TOOLS_MPC_METRICS_CONFUSIONTABLE_H

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// A table with a row for each label and a column for each prediction, and the
/// precision and recall of each class; each line has a newline before it.
/// `classes` has the names of the first classes, and may be empty.
std::string formatConfusion(const std::vector<std::vector<uint64_t>> &matrix,
                            const std::vector<std::string> &classes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_CONFUSIONTABLE_H
