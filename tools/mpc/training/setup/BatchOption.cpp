//===- BatchOption.cpp - The option --batch of a package ------------------===//

#include "tools/mpc/training/setup/BatchOption.h"
#include "tools/mpc/options/Checks.h"

#include <algorithm>

using namespace mpc::tool;

void BatchOption::addTo(CLI::App &command) {
  command
      .add_option("--batch", size,
                  "Samples per batch, if the model was compiled for several "
                  "sizes (default: the first)")
      ->option_text("N")
      ->check(Whole(1));
}

void BatchOption::checkProgram(const Program &program) const {
  const std::vector<uint64_t> sizes = program.batchSizes(program.stepEntry());
  if (!size || std::find(sizes.begin(), sizes.end(), *size) != sizes.end())
    return;
  std::string known;
  for (uint64_t other : sizes)
    known += std::to_string(other) + ",";
  const std::string given = std::to_string(*size);
  throw Failure(Usage, "--batch=" + given + ": " + program.path +
                           (sizes.empty()
                                ? " has no batch dimension"
                                : " was not compiled for this size; compile it "
                                  "with --batch=" +
                                      known + given));
}

std::string BatchOption::entryOf(const Program &program,
                                 const char *entry) const {
  return size ? program.entryFor(entry, *size) : entry;
}
