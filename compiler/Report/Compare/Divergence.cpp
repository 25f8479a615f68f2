//===- Divergence.cpp - Where two programs of a model diverge -------------===//

#include "compiler/Report/Compare/Divergence.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <tuple>

using namespace mpc::report;
using llvm::ArrayRef;

namespace {

/// Identifies ops by node and kind, and equal ones by their order.
class Names {
public:
  using Name = std::tuple<llvm::StringRef, llvm::StringRef, unsigned>;

  Name of(const Op &op) { return {op.node, op.op, seen[{op.node, op.op}]++}; }

private:
  std::map<std::pair<llvm::StringRef, llvm::StringRef>, unsigned> seen;
};

} // namespace

std::vector<SharedOp> mpc::report::matchOps(const Function &left,
                                            const Function &right) {
  std::map<Names::Name, size_t> lines;
  Names rightNames, leftNames;
  for (size_t i = 0; i < right.ops.size(); ++i)
    lines[rightNames.of(right.ops[i])] = i;
  std::vector<SharedOp> shared;
  std::vector<int64_t> placeOf(left.ops.size(), -1);
  for (size_t i = 0; i < left.ops.size(); ++i) {
    auto found = lines.find(leftNames.of(left.ops[i]));
    if (found == lines.end())
      continue;
    placeOf[i] = static_cast<int64_t>(shared.size());
    shared.push_back({i, found->second, {}});
  }
  for (SharedOp &op : shared)
    for (const Operand &operand : left.ops[op.left].operands)
      op.inputs.push_back(operand.origin.op < 0 ? -1
                                                : placeOf[operand.origin.op]);
  return shared;
}

double mpc::report::relativeError(ArrayRef<double> value,
                                  ArrayRef<double> truth, double leastNorm) {
  assert(value.size() == truth.size() && "not the same tensor");
  double difference = 0, norm = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(truth[i]))
      continue;
    if (!std::isfinite(value[i]))
      return INFINITY;
    double apart = value[i] - truth[i];
    difference += apart * apart;
    norm += truth[i] * truth[i];
  }
  if (difference == 0)
    return 0;
  norm = std::max(std::sqrt(norm), leastNorm);
  return norm == 0 ? 1 : std::sqrt(difference) / norm;
}

/// The input of `op` with the largest error; none if no input has an error.
static std::optional<size_t> worstInput(const SharedOp &op,
                                        ArrayRef<double> errors) {
  std::optional<size_t> worst;
  for (int64_t input : op.inputs)
    if (input >= 0 && errors[input] > (worst ? errors[*worst] : 0))
      worst = input;
  return worst;
}

double mpc::report::errorOfInputs(const SharedOp &op, ArrayRef<double> errors) {
  std::optional<size_t> worst = worstInput(op, errors);
  return worst ? errors[*worst] : 0;
}

/// The op that adds most to the error of `op`: itself, or one on the path of
/// the largest errors to it.
static size_t findCause(ArrayRef<SharedOp> ops, ArrayRef<double> errors,
                        size_t op) {
  size_t cause = op;
  double most = 0;
  for (std::optional<size_t> next = op; next;) {
    double added = errors[*next] - errorOfInputs(ops[*next], errors);
    if (added > most) {
      most = added;
      cause = *next;
    }
    std::optional<size_t> input = worstInput(ops[*next], errors);
    next = input && *input < *next ? input : std::nullopt;
  }
  return cause;
}

std::optional<size_t> mpc::report::findDivergence(ArrayRef<SharedOp> ops,
                                                  ArrayRef<double> errors,
                                                  double tolerance) {
  for (size_t i = 0; i < ops.size(); ++i)
    if (errors[i] > tolerance && errorOfInputs(ops[i], errors) <= tolerance)
      return findCause(ops, errors, i);
  return std::nullopt;
}
