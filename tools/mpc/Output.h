//===- Output.h - Files that a command is about to write --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OUTPUT_H
#define MPC_TOOLS_MPC_OUTPUT_H

#include <string>

namespace mpc::tool {

/// Where a file written to `path` comes to lie: at the end of links, which stay
/// what they are. Throws a Failure if it can certainly not be written, so that
/// nobody waits for a result that has no place. What else stands there than a
/// file, above all a device, is refused: files are written beside their place
/// and renamed into it, and would replace it.
[[nodiscard]] std::string findPlace(const std::string &path);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OUTPUT_H
