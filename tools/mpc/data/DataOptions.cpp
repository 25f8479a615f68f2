//===- DataOptions.cpp - The options --data, --map and others -------------===//

#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/options/Checks.h"

#include <sstream>

using namespace mpc::tool;

CLI::Option *DataOptions::addTo(CLI::App &command, const std::string &what,
                                const std::string &group) {
  command
      .add_option("--map", maps,
                  "Arrays or columns that an input takes, if their names "
                  "differ: labels=species, or several columns of numbers: "
                  "x=height,width")
      ->option_text("INPUT=NAME,...")
      ->type_size(1)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--scale", scales,
                  "Multiply the values of f32 inputs, or of one: 1/255 or "
                  "image=1/255")
      ->option_text("[INPUT=]FACTOR")
      ->type_size(1)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--normalize", normalizations,
                  "Subtract the mean from the (scaled) values, and divide by "
                  "the standard deviation, of all values or of each channel: "
                  "0.5/0.25, 0.4,0.5,0.6/0.2,0.2,0.2 or imagenet")
      ->option_text("[INPUT=]MEAN,.../STD,...")
      ->type_size(1)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--stride", stride,
                  "Tokens between the beginnings of the samples of a text "
                  "(default: the length of a sample)")
      ->option_text("N")
      ->check(Whole(1))
      ->group(group);
  command
      .add_option("--label-shift", labelShift,
                  "How many tokens later than a token of a text its label is "
                  "(default: 1; 0: the model shifts labels itself)")
      ->option_text("N")
      ->check(Whole(0))
      ->group(group);
  return command.add_option("--data", path, what)->option_text("PATH");
}

std::vector<std::string> DataOptions::mappedTo(const std::string &input) const {
  std::vector<std::string> names;
  for (const std::string &map : maps) {
    size_t equal = map.find('=');
    if (equal == std::string::npos || equal == 0 || equal + 1 == map.size())
      throw Failure(Usage, "--map='" + map + "' must be INPUT=NAME,...");
    if (map.substr(0, equal) != input)
      continue;
    names.clear();
    std::istringstream list(map.substr(equal + 1));
    for (std::string name; std::getline(list, name, ',');)
      names.push_back(name);
  }
  return names;
}
