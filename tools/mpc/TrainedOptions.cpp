//===- TrainedOptions.cpp - What a checkpoint was trained with ------------===//

#include "tools/mpc/TrainedOptions.h"

using namespace mpc::tool;

namespace {
struct Option {
  const char *name;
  bool isGrave; ///< Moments and losses of the one mean nothing to the other.
};
} // namespace

static constexpr Option kOptions[] = {
    {"loss", true},        {"optimizer", true},     {"precision", false},
    {"lr", false},         {"weight-decay", false}, {"clip-norm", false},
    {"accumulate", false}, {"beta1", false},        {"beta2", false},
    {"epsilon", false},    {"momentum", false},     {"nesterov", false},
};

static std::string propertyOf(const Option &option) {
  return std::string("train.option.") + option.name;
}

void mpc::tool::rememberOptions(Session &session, const Program &program) {
  for (const Option &option : kOptions)
    if (std::string value = program.option(option.name); !value.empty())
      session.setProperty(propertyOf(option), value);
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
    std::string text = std::string(option.name) + " '" + now +
                       "' instead of '" + *before + "'";
    (option.isGrave ? changes.graver : changes.milder).push_back(text);
    changes.rate |= option.name == std::string("lr");
    changes.accumulate |= option.name == std::string("accumulate");
  }
  return changes;
}
