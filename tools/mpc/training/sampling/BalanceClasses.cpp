//===- BalanceClasses.cpp - Equally many samples of each class ------------===//

#include "tools/mpc/training/sampling/BalanceClasses.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>

using namespace mpc::tool;

/// "'cat'", or "class 3" if the classes have no names.
static std::string describeClass(const Dataset &data, int64_t number) {
  auto names = data.classes().find("labels");
  if (names == data.classes().end() ||
      static_cast<uint64_t>(number) >= names->second.size())
    return "class " + std::to_string(number);
  return "'" + names->second[number] + "'";
}

std::unique_ptr<SampleOrder> mpc::tool::balanceClasses(const Dataset &data) {
  auto members = data.membersOfClasses();
  if (members.empty())
    throw Failure(Usage, "--sampling=balanced: no sample of " + data.path +
                             " has a label that counts");
  const uint64_t count = data.numSamples();
  auto hasFewer = [](const auto &a, const auto &b) {
    return a.second.size() < b.second.size();
  };
  auto describe = [&](const auto &entry) {
    const double times =
        static_cast<double>(count) / members.size() / entry.second.size();
    return describeClass(data, entry.first) + " has " +
           formatCount(entry.second.size(), "sample") + ", taken " +
           format("%.3g", times) + " times on average";
  };
  auto [least, most] =
      std::minmax_element(members.begin(), members.end(), hasFewer);
  noteOnce("--sampling=balanced: an epoch takes " +
           formatCount(count, "sample") + ", equally many of each of " +
           formatCount(members.size()) +
           (members.size() == 1 ? " class: " : " classes: ") +
           describe(*least) + (least == most ? "" : "; " + describe(*most)));
  ClassMembers classes;
  for (auto &[number, samples] : members)
    classes.push_back(std::move(samples));
  return std::make_unique<BalancedOrder>(count, std::move(classes));
}
