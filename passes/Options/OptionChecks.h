//===- OptionChecks.h - Allowed values of options ---------------*- C++ -*-===//
#ifndef MPC_PASSES_OPTIONS_OPTIONCHECKS_H
#define MPC_PASSES_OPTIONS_OPTIONCHECKS_H

#include "compiler/Support/Precision/Precisions.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mpc {

/// Takes a value as users write it. Returns "" if it is allowed, or else the
/// requirement: "must lie in [0, 1), but is '2'".
struct OptionCheck {
  std::function<std::string(const std::string &value)> call;
  std::vector<std::string> words =
      {}; ///< All allowed values, if they are words.

  std::string operator()(const std::string &value) const { return call(value); }
};

namespace check {

OptionCheck anyText();

/// Accepts the given words; suggests the nearest one for a misspelled word.
/// Messages list only the first `numShown`.
OptionCheck choice(std::vector<std::string> words,
                   size_t numShown = ~size_t(0));

/// The names of Precisions.def; messages do not list the last one.
OptionCheck precision();

/// Whole numbers from `low` to `high`.
OptionCheck whole(uint64_t low, uint64_t high = INT64_MAX);

/// Different whole numbers of at least `low`, separated by commas.
OptionCheck wholeNumbers(uint64_t low);

/// Whole numbers of any sign.
OptionCheck integer();

/// Finite numbers of at least `low`, or above it, that an f32 holds.
OptionCheck atLeast(double low);
OptionCheck above(double low);

/// Numbers in [0, 1).
OptionCheck halfOpenUnit();

/// Numbers in [0, 1].
OptionCheck closedUnit();

/// Numbers in (0, 1).
OptionCheck openUnit();

/// Anything but "", which an unset shell variable expands to.
OptionCheck notEmpty();

/// A number of steps, or a share of all steps.
OptionCheck stepsOrShare();

/// An axis other than the first, which counts samples.
OptionCheck classAxis();

/// dynamic, off, or a fixed scale.
OptionCheck scaleKind();

/// NAME, then after the last `separator` a whole number of at least `lowest`.
OptionCheck pairs(char separator, int64_t lowest);

} // namespace check

/// "bf16, fp8 or auto"
std::string joinWords(const std::vector<std::string> &words);

/// The names of the precisions that `isSelected` accepts, in the order of
/// Precisions.def, without the last one, which messages do not list.
std::vector<std::string>
listPrecisions(const std::function<bool(const Precision &)> &isSelected);

/// All precisions that messages list.
std::vector<std::string> listPrecisions();

/// The precisions whose layers multiply in FP8 by default.
std::vector<std::string> listFp8Precisions();

/// The formats that rules for single ops name.
std::vector<std::string> listRuleFormats();

/// The candidate that was most likely meant, or "" if none is near. A candidate
/// is near if it differs by at most one edit per three characters (swapping
/// neighbours is one edit), if it differs only in case, or if `word` is a
/// synonym from other tools.
std::string findNearest(const std::string &word,
                        const std::vector<std::string> &candidates);

/// "; did you mean 'bf16'?", or "" if none is near.
std::string suggest(const std::string &word,
                    const std::vector<std::string> &candidates);

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIONCHECKS_H
