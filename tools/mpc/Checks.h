//===- Checks.h - What values options take ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKS_H
#define MPC_TOOLS_MPC_CHECKS_H

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// Accepts the given words and suggests one for a word that is near. Only the
/// first `numShown` are named in messages.
class Choice : public CLI::Validator {
public:
  explicit Choice(std::vector<std::string> words, size_t numShown = ~size_t(0));
};

/// Accepts whole numbers from `low` to `high`.
class Whole : public CLI::Validator {
public:
  explicit Whole(uint64_t low, uint64_t high = INT64_MAX);
};

/// Accepts finite numbers of at least `low`.
class AtLeast : public CLI::Validator {
public:
  explicit AtLeast(double low);
};

/// Accepts finite numbers above `low`.
class Above : public CLI::Validator {
public:
  explicit Above(double low);
};

/// Accepts all but "", which an unset variable of a script becomes.
class NotEmpty : public CLI::Validator {
public:
  NotEmpty();
};

/// Accepts numbers from 0 on and below 1.
class Share : public CLI::Validator {
public:
  Share();
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKS_H
