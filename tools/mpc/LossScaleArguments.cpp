//===- LossScaleArguments.cpp - How fp16 scales the loss ------------------===//

#include "tools/mpc/LossScaleArguments.h"
#include "tools/mpc/Checks.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Help.h"
#include "tools/mpc/Print.h"
#include "tools/mpc/Text.h"

#include <CLI/CLI.hpp>

#include <cstdlib>

using namespace mpc;
using namespace mpc::tool;

/// dynamic, off, or a scale that stays.
static CLI::Validator scaleKind() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        if (text == "dynamic" || text == "off" || Above(0)(text).empty())
          return "";
        return "must be dynamic, off or a number above 0 that fits 32 bits, "
               "but is '" +
               text + "'" + suggest(text, {"dynamic", "off"});
      },
      "", "loss-scale");
}

static CLI::Validator fraction() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        if (Above(0)(text).empty() && std::strtof(text.c_str(), nullptr) < 1)
          return "";
        return "must be a number between 0 and 1, but is '" + text + "'";
      },
      "", "fraction");
}

void LossScaleArguments::addTo(CLI::App &command) {
  added.push_back(command
                      .add_option("--loss-scale", kind,
                                  "Of fp16: dynamic (default), off or a number")
                      ->option_text("HOW")
                      ->group("Precision")
                      ->check(scaleKind()));
  static const std::string group =
      std::string(kRareGroup) + "the dynamic loss scale";
  auto add = [&](const char *name, auto &value, const char *description,
                 const char *text) {
    CLI::Option *option = command.add_option(name, value, description)
                              ->option_text(text)
                              ->group(group);
    added.push_back(option);
    return option;
  };
  add("--loss-scale-init", dynamic.init, "To start with (default: 65536)",
      "SCALE")
      ->check(Above(0));
  add("--loss-scale-growth", dynamic.growth,
      "Factor after an interval without overflow (default: 2)", "FACTOR")
      ->check(Above(1));
  add("--loss-scale-backoff", dynamic.backoff,
      "Factor after an overflow (default: 0.5)", "FACTOR")
      ->check(fraction());
  add("--loss-scale-interval", dynamic.interval,
      "Steps in a row from growth to growth (default: 2000)", "N")
      ->check(Whole(1, INT32_MAX));
  add("--loss-scale-hysteresis", dynamic.hysteresis,
      "Overflows in a row until it shrinks (default: 1)", "N")
      ->check(Whole(1, INT32_MAX));
  add("--loss-scale-min", dynamic.min, "It never shrinks below (default: 1)",
      "SCALE")
      ->check(Above(0));
  add("--loss-scale-max", dynamic.max,
      "It never grows above (default: 16777216)", "SCALE")
      ->check(Above(0));
}

LossScaling LossScaleArguments::toScaling(const std::string &precision) const {
  for (const CLI::Option *option : added) {
    if (option->count() == 0)
      continue;
    if (precision != "fp16")
      throw Failure(Usage, option->get_name() +
                               " means nothing to --precision=" + precision);
    if (option != added.front() && kind != "dynamic")
      throw Failure(Usage, option->get_name() +
                               " means nothing to --loss-scale=" + kind);
  }
  if (kind == "off") {
    LossScaling off;
    off.enabled = false;
    return off;
  }
  if (kind != "dynamic")
    return LossScaling::fixed(std::strtod(kind.c_str(), nullptr));
  if (!(dynamic.min < dynamic.max))
    throw Failure(Usage, format("--loss-scale-min must lie below "
                                "--loss-scale-max, but is %g, not below %g",
                                dynamic.min, dynamic.max));
  if (dynamic.init < dynamic.min || dynamic.init > dynamic.max)
    throw Failure(Usage,
                  format("--loss-scale-init must lie between --loss-scale-min "
                         "and --loss-scale-max, %g and %g, but is %g",
                         dynamic.min, dynamic.max, dynamic.init));
  return dynamic;
}
