//===- LoadCheckpoint.cpp - Load a checkpoint that the user names ---------===//

#include "tools/mpc/base/Runtime.h"

#include "runtime/src/base/guard.h"
#include "runtime/src/checkpoint/checkpoint.h"

#include <filesystem>

using namespace mpc::tool;

std::string Session::load(const std::string &given) {
  std::error_code ignored;
  const std::string path = resolveBest(given);
  if (!std::filesystem::exists(path, ignored))
    throw Failure(InputOutput, "no checkpoint '" + path + "'");
  // A folder named like a checkpoint counts as one even if its manifest is
  // lost, so that the runtime reports what is wrong with it.
  std::string name = std::filesystem::path(path).filename().string();
  std::string mismatch;
  if (isCheckpoint(path) || name.rfind("step-", 0) == 0) {
    check(runtime::guard(
              [&] { return runtime::load_checkpoint(get(), path, &mismatch); }),
          path);
    return path;
  }
  std::string loaded = loadLatest(path, mismatch);
  if (loaded.empty())
    throw Failure(InputOutput, "'" + path + "' contains no checkpoint");
  return loaded;
}
