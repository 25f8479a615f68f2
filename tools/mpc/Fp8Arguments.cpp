//===- Fp8Arguments.cpp - How fp8 scales tensors --------------------------===//

#include "tools/mpc/Fp8Arguments.h"
#include "tools/mpc/Checks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Help.h"

#include <CLI/CLI.hpp>

using namespace mpc;
using namespace mpc::tool;

void Fp8Arguments::addTo(CLI::App &command) {
  static const std::string group = std::string(kRareGroup) + "fp8";
  auto add = [&](CLI::Option *option, const char *text) {
    added.push_back(option->option_text(text)->group(group));
    return option;
  };
  add(command.add_option(
          "--fp8-scaling", scaling.scaling,
          "delayed, by the magnitudes of past updates (default), "
          "or current"),
      "HOW")
      ->check(Choice({"delayed", "current"}));
  history = add(command.add_option("--fp8-amax-history", scaling.history,
                                   "Updates that count (default: 1024)"),
                "N")
                ->check(Whole(1, 1 << 20));
  add(command.add_option("--fp8-margin", scaling.margin,
                         "Powers of two below the largest number (default: 0)"),
      "N")
      ->check(Whole(0, 8));
  CLI::Option *edges = command.add_flag("--fp8-all-layers", scaling.edges,
                                        "The first and the last layer, too");
  added.push_back(edges->group(group));
}

Fp8Scaling Fp8Arguments::toScaling(const std::string &precision) const {
  for (const CLI::Option *option : added)
    if (option->count() != 0 && precision != "fp8")
      throw Failure(Usage, option->get_name() +
                               " means nothing to --precision=" + precision);
  if (history && history->count() != 0 && scaling.scaling != "delayed")
    throw Failure(Usage,
                  history->get_name() +
                      " means nothing to --fp8-scaling=" + scaling.scaling);
  return scaling;
}
