//===- FindWeights.cpp - The file of the option --init --------------------===//

#include "tools/mpc/checkpoints/initial/FindWeights.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/checkpoints/Checkpoints.h"

#include "runtime/src/checkpoint/checkpoint.h"

#include <filesystem>

using namespace mpc::tool;

std::string mpc::tool::findWeights(const std::string &given) {
  std::string path = resolveBest(given);
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored))
    return path;
  if (!isCheckpoint(path)) {
    std::vector<std::string> found = listCheckpoints(path);
    if (found.empty())
      throw Failure(InputOutput,
                    "--init: '" + path + "' contains no checkpoint 'step-N'");
    path = found.back();
  }
  return path + "/" + mpc::runtime::kModelFile;
}

void mpc::tool::throwFailure(const WeightsError &error) {
  switch (error.kind) {
  case WeightsError::Usage:
    throw Failure(Usage, error.what());
  case WeightsError::Invalid:
    throw Failure(InvalidModel, error.what());
  case WeightsError::Damaged:
    throw Failure(Damaged, error.what());
  case WeightsError::Io:
    throw Failure(InputOutput, error.what());
  case WeightsError::Limit:
    throw Failure(Limit, error.what());
  }
  throw Failure(Error, error.what());
}
