//===- ProfileMatch.cpp - Profiled tensors by op --------------------------===//

#include "compiler/Support/UserInput/ProfileMatch.h"

#include <map>

using namespace mpc;
using llvm::StringRef;
using llvm::Twine;

ProfileMatch::ProfileMatch(const Profile &profile,
                           llvm::ArrayRef<ProfiledOp> ops)
    : profile(profile), known(ops.size()) {
  std::map<std::pair<StringRef, StringRef>, std::vector<size_t>> groups;
  for (size_t i = 0; i < ops.size(); ++i)
    groups[{ops[i].node, ops[i].op}].push_back(i);
  for (const auto &[key, members] : groups) {
    Tensors tensors;
    for (const ProfiledTensor &tensor : profile.find(key.first))
      if (tensor.op == key.second)
        tensors.push_back(&tensor);
    auto next = tensors.begin();
    for (size_t index : members) {
      size_t count = ops[index].numResults;
      if (count == 0 && tensors.size() % members.size() == 0)
        count = tensors.size() / members.size();
      count = std::min<size_t>(count, tensors.end() - next);
      known[index].assign(next, next + count);
      next += count;
    }
  }
}

void ProfileMatch::count(bool isKnown, StringRef name) {
  ++numCounted;
  if (!isKnown && numMissing++ == 0)
    firstMissing = name;
}

void ProfileMatch::countWeight(StringRef name, uint64_t elements) {
  llvm::ArrayRef<ProfiledTensor> tensors = profile.find(name);
  count(!tensors.empty(), name);
  if (tensors.empty() || tensors.front().elements == elements ||
      !wrongWeight.empty())
    return;
  wrongWeight = ("its '" + name + "' has " + Twine(tensors.front().elements) +
                 " elements, not " + Twine(elements))
                    .str();
}

std::string ProfileMatch::lacks() const {
  if (numMissing == 0)
    return "";
  return (Twine(numMissing) + " of " + Twine(numCounted) +
          " tensors of the forward pass, such as '" + firstMissing + "'")
      .str();
}

llvm::Error ProfileMatch::check() const {
  if (2 * numMissing > numCounted)
    return profile.refuse("it lacks " + lacks());
  if (!wrongWeight.empty())
    return profile.refuse(wrongWeight);
  return llvm::Error::success();
}
