//===- TokenWindows.h - Samples of a long text ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_SOURCES_TOKENWINDOWS_H
#define MPC_TOOLS_MPC_DATA_SOURCES_TOKENWINDOWS_H

#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/data/sources/DataSource.h"

namespace mpc::tool {

/// A .txt file, whose bytes are tokens.
std::unique_ptr<DataSource> openText(const std::string &path);

/// If the data is nothing but one row of tokens (a text, or an array of
/// integers of one dimension), and the inputs are of texts [N, T], cuts it into
/// windows of T tokens that begin --stride tokens apart. `labels` are the
/// tokens that follow, --label-shift of them later; `position_ids` count from
/// 0, and masks are 1. Returns other data as it is. Throws a Failure if there
/// are other inputs, or too few tokens.
std::unique_ptr<DataSource> cutWindows(std::unique_ptr<DataSource> source,
                                       const DataOptions &options,
                                       const std::vector<Binding> &inputs,
                                       std::vector<std::string> &notes);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_SOURCES_TOKENWINDOWS_H
