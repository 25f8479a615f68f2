//===- Output.h - Output files of commands ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_BASE_OUTPUT_H
#define MPC_TOOLS_MPC_BASE_OUTPUT_H

#include <string>
#include <vector>

namespace mpc::tool {

/// A file that a command reads, and how messages call it: "the model".
struct InputFile {
  std::string what, path;
};

/// The place where a file written to `path` will be: the target of `path` if it
/// is a link, which is kept. Throws a Failure if the file certainly cannot be
/// written, before any time is spent on its contents. Rejects a place that has
/// anything but a regular file, above all a device: files are written under a
/// temporary name and renamed, which would replace it. Also rejects `inputs`,
/// by any name or link, and places in a checkpoint, because writing there would
/// destroy what cannot be recreated.
[[nodiscard]] std::string
resolveOutputPath(const std::string &path,
                  const std::vector<InputFile> &inputs);

/// True if two places returned by resolveOutputPath are the same file, whether
/// or not it exists.
bool isSameFile(const std::string &a, const std::string &b);

/// Creates a folder and its missing parents, and syncs them: a checkpoint
/// survives a power loss only if its folder does.
void createFolders(const std::string &path);

/// "cannot read 'x.toml': no such file".
std::string describeUnreadable(const std::string &path);

/// Writes a file to its place (resolveOutputPath) atomically, and syncs it so
/// that it survives a power loss.
void writeFile(const std::string &place, const std::string &content);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_BASE_OUTPUT_H
