//===- Output.h - Files that a command is about to write --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_OUTPUT_H
#define MPC_TOOLS_MPC_BASE_OUTPUT_H

#include <string>
#include <vector>

namespace mpc::tool {

/// A file that a command reads, and what it is to the user: "the model".
struct InputFile {
  std::string what, path;
};

/// Where a file written to `path` comes to lie: at the end of links, which stay
/// what they are. Throws a Failure if it can certainly not be written, so that
/// nobody waits for a result that has no place. What else stands there than a
/// file, above all a device, is refused: files are written beside their place
/// and renamed into it, and would replace it. So is one of `inputs`, by
/// whatever name or link, and every place in a checkpoint: that would destroy
/// what cannot be made again.
[[nodiscard]] std::string findPlace(const std::string &path,
                                    const std::vector<InputFile> &inputs);

/// True if two files would be one: places that findPlace gave, whether or not
/// anything is there.
bool isSamePlace(const std::string &a, const std::string &b);

/// Makes a folder and those above it. What is made survives a power loss: a
/// checkpoint that does is of no use in a folder that does not.
void createFolders(const std::string &path);

/// Writes a file to its place (findPlace), whole or not at all, so that it
/// survives a power loss.
void writeFile(const std::string &place, const std::string &content);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_OUTPUT_H
