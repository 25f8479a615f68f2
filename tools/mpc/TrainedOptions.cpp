//===- TrainedOptions.cpp - What a checkpoint was trained with ------------===//

#include "tools/mpc/TrainedOptions.h"

using namespace mpc::tool;

namespace {
struct Option {
  const char *name;
  bool isGrave = false;      ///< Moments and losses of the one mean nothing to
                             ///< the other.
  bool bringsStates = false; ///< Which begin where they are not yet.
};
} // namespace

static constexpr Option kOptions[] = {
    {"loss", true},
    {"optimizer", true},
    {"precision"},
    {"master-weights", true},
    {"lr"},
    {"lr-schedule", false, true},
    {"total-steps"},
    {"weight-decay"},
    {"group"},
    {"no-decay"},
    {"clip-norm"},
    {"clip-value"},
    {"accumulate", false, true},
    {"ema", false, true},
    {"beta1"},
    {"beta2"},
    {"epsilon"},
    {"momentum", false, true},
    {"nesterov"},
    {"alpha"},
    {"label-smoothing"},
};

static std::string propertyOf(const Option &option) {
  return std::string("train.option.") + option.name;
}

void mpc::tool::rememberOptions(Session &session, const Program &program) {
  for (const Option &option : kOptions)
    if (std::string value = program.option(option.name); !value.empty())
      session.setProperty(propertyOf(option), value);
}

/// An option that may be given several times has a line for each.
static std::string quote(std::string value) {
  for (size_t at; (at = value.find('\n')) != std::string::npos;)
    value.replace(at, 1, "', '");
  return "'" + value + "'";
}

OptionChanges mpc::tool::compareOptions(const Session &session,
                                        const Program &program) {
  OptionChanges changes;
  changes.known = session.property(propertyOf(kOptions[0])).has_value();
  for (const Option &option : kOptions) {
    std::optional<std::string> before = session.property(propertyOf(option));
    std::string now = program.option(option.name);
    // Packages did not always have every option.
    if (!before || now.empty() || now == *before)
      continue;
    std::string text = std::string(option.name) + " " + quote(now) +
                       " instead of " + quote(*before);
    (option.isGrave ? changes.graver : changes.milder).push_back(text);
    changes.rate |= option.name == std::string("lr");
    changes.totalSteps |= option.name == std::string("total-steps");
    changes.states |= option.bringsStates;
  }
  return changes;
}
