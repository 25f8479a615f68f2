//===- OptionValues.cpp - Options of training, by name --------------------===//

#include "tools/mpc/library/OptionValues.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Help.h"

#include "runtime/src/base/guard.h"

#include <algorithm>

using namespace mpc::tool;

namespace {
/// An option of the command that a library does not have.
struct CommandOption {
  const char *name, *instead;
};
} // namespace

static constexpr const char *kProfile =
    "call mpc_session_profile_start with mpc_trainer_session";
static constexpr const char *kConfig = "set each option";
static constexpr CommandOption kCommandOptions[] = {
    {"config", kConfig},
    {"data", "pass a dataset to mpc_trainer_create"},
    {"help", "see mpc train --help"},
    {"help-all", "see mpc train --help"},
    {"json", "mpc_trainer_step returns the numbers of a step"},
    {"package", "pass a program to mpc_trainer_create"},
    {"print-config", kConfig},
    {"profile", kProfile},
    {"profile-steps", kProfile},
    {"quiet", "set no message handler"},
};

/// The options of `mpc train` that a library has, which set `options`.
static void addOptions(CLI::App &app, TrainOptions &options) {
  app.set_help_flag();
  options.addTo(app);
  options.session.addCodeDirTo(app);
  options.log.addTo(app);
}

using Values = std::vector<std::pair<std::string, std::string>>;

static void parseValues(CLI::App &app, const Values &values) {
  std::vector<std::string> arguments;
  for (const auto &[name, value] : values)
    arguments.push_back("--" + name + "=" + value);
  // CLI11 takes them from the end.
  std::reverse(arguments.begin(), arguments.end());
  app.parse(std::move(arguments));
}

void OptionValues::set(const std::string &name, const std::string &value) {
  for (const CommandOption &option : kCommandOptions)
    if (name == option.name)
      throw Failure(Usage, "option '" + name +
                               "' applies to the command mpc train only; " +
                               option.instead);
  TrainOptions options;
  CLI::App app;
  addOptions(app, options);
  const CLI::Option *option =
      name.rfind('-', 0) == 0 ? nullptr : app.get_option_no_throw("--" + name);
  if (!option) {
    std::vector<std::string> known;
    for (const CLI::Option *other : app.get_options())
      known.push_back(other->get_single_name());
    size_t dashes = std::min(name.find_first_not_of('-'), name.size());
    throw Failure(Usage, "there is no option called '" + name + "'" +
                             suggest(name.substr(dashes), known));
  }
  if (value.empty())
    throw Failure(Usage, "option '" + name + "' has an empty value");
  try {
    parseValues(app, {{name, value}});
  } catch (const CLI::RequiresError &) {
    // Other options may follow.
  } catch (const CLI::ConversionError &error) {
    throw Failure(Usage, option->get_expected_min() == 0
                             ? "option '" + name +
                                   "' must be yes or no, but is '" + value + "'"
                             : describeUsageError(app, error));
  } catch (const CLI::ParseError &error) {
    throw Failure(Usage, describeUsageError(app, error));
  }
  const bool isList = option->get_items_expected_max() > 1;
  auto found = std::find_if(values.begin(), values.end(),
                            [&](const auto &set) { return set.first == name; });
  if (isList || found == values.end())
    values.emplace_back(name, value);
  else
    found->second = value;
}

TrainOptions OptionValues::parse() const {
  TrainOptions options;
  CLI::App app;
  addOptions(app, options);
  try {
    parseValues(app, values);
  } catch (const CLI::ParseError &error) {
    throw Failure(Usage, describeUsageError(app, error));
  }
  return options;
}

//===----------------------------------------------------------------------===//
// The C functions
//===----------------------------------------------------------------------===//

mpc_status_t mpc_train_options_create(mpc_train_options_t **out_options) {
  MessageHandler none;
  return runApi(none, [&] {
    requireArgument(out_options, "out_options");
    *out_options = new mpc_train_options_s();
  });
}

void mpc_train_options_destroy(mpc_train_options_t *options) { delete options; }

mpc_status_t mpc_train_options_set(mpc_train_options_t *options,
                                   const char *name, const char *value) {
  MessageHandler none;
  return runApi(none, [&] {
    requireArgument(options, "options");
    requireArgument(name, "name");
    if (!value)
      throw Failure(Usage,
                    std::string("the value of option '") + name + "' is NULL");
    options->values.set(name, value);
  });
}

void mpc_train_options_set_handler(mpc_train_options_t *options,
                                   mpc_message_handler_t handler, void *user) {
  if (options)
    options->messages.set(handler, user);
}

mpc_status_t
mpc_train_options_set_communicator(mpc_train_options_t *options,
                                   const mpc_communicator_t *communicator) {
  MessageHandler none;
  return runApi(none, [&] {
    requireArgument(options, "options");
    mpc_communicator_t own = {};
    if (communicator) {
      check(mpc::runtime::copy_in(communicator, "the communicator", &own));
      if (own.rank >= own.size)
        throw Failure(Usage,
                      format("the communicator says that this is rank %u of %u",
                             own.rank, own.size));
      if (!own.reduce_scatter || !own.all_gather || !own.abort)
        throw Failure(Usage, "the communicator lacks one of its functions");
    }
    options->communicator = own;
  });
}
