//===- OptionChecks.h - What values options take ----------------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_OPTIONCHECKS_H
#define MPC_PASSES_OPTIONS_OPTIONCHECKS_H

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mpc {

/// Takes a value as users write it and returns "" or what it must be: "must lie
/// in [0, 1), but is '2'".
struct OptionCheck {
  std::function<std::string(const std::string &value)> call;
  std::vector<std::string> words = {}; ///< All values, where they are words.

  std::string operator()(const std::string &value) const { return call(value); }
};

namespace check {

OptionCheck anyText();

/// The given words; suggests one for a word that is near. Only the first
/// `numShown` are named in messages.
OptionCheck choice(std::vector<std::string> words,
                   size_t numShown = ~size_t(0));

/// The names of Precisions.def; messages do not name the last.
OptionCheck precision();

/// Whole numbers from `low` to `high`.
OptionCheck whole(uint64_t low, uint64_t high = INT64_MAX);

/// Finite numbers of at least `low`, or above it, that an f32 holds.
OptionCheck atLeast(double low);
OptionCheck above(double low);

/// Numbers from 0 on and below 1.
OptionCheck share();

/// Numbers between 0 and 1.
OptionCheck fraction();

/// All but "", which an unset variable of a script becomes.
OptionCheck notEmpty();

/// A number of steps, or a share of all of them.
OptionCheck stepsOrShare();

/// A loss, alone or as LOSS:NAME of the output NAME; or output:NAME.
OptionCheck lossKind();

/// An axis behind the first, which counts samples.
OptionCheck classAxis();

/// dynamic, off, or a scale that stays.
OptionCheck scaleKind();

/// NAME and a whole number of at least `lowest` behind the last `separator`.
OptionCheck pairs(char separator, int64_t lowest);

} // namespace check

/// The candidate that was most likely meant, or "" if none is near: at most one
/// edit for each three characters, a swap of neighbours being one edit; what
/// differs in case alone; or what others call the same.
std::string findNearest(const std::string &word,
                        const std::vector<std::string> &candidates);

/// "; did you mean 'bf16'?", or "" if none is near.
std::string suggest(const std::string &word,
                    const std::vector<std::string> &candidates);

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIONCHECKS_H
