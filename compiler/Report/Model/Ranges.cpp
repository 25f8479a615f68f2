//===- Ranges.cpp - Profiled results of the ops of a report ---------------===//

#include "compiler/Report/Model/Ranges.h"

#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;

/// Bytes of "f32" or "bf16"; 0 for unknown types.
static uint64_t widthOf(StringRef dtype) {
  for (auto [suffix, width] :
       {std::pair<StringRef, uint64_t>("f64", 8), {"f32", 4}, {"f16", 2}})
    if (dtype.ends_with(suffix))
      return width;
  return 0;
}

llvm::ArrayRef<const ProfiledTensor *> Ranges::of(const Op &op) const {
  auto found = known.find(&op);
  return found == known.end() ? llvm::ArrayRef<const ProfiledTensor *>()
                              : llvm::ArrayRef(found->second);
}

ProfileMatch Ranges::add(const Function &function) {
  std::vector<ProfiledOp> ops;
  for (const Op &op : function.ops)
    ops.push_back({op.node.empty() ? op.op : op.node, op.op});
  ProfileMatch match(*source, ops);
  for (auto [i, op] : llvm::enumerate(function.ops))
    known[&op] = match.resultsOf(i).vec();
  return match;
}

/// Returns true if a profile of the model has the results of `op`. Views are
/// not measured, ops that mixed precision adds are not in f32 programs, and the
/// loss depends on micro-batches.
static bool isMeasured(const Op &op) {
  return op.phase == Phase::Forward && !op.resultType.empty() &&
         op.cost.bytes != 0 && !StringRef(op.op).starts_with("amp.") &&
         op.node != kLossNode;
}

/// Counts the tensors of the forward pass that the profile should have: results
/// of ops, and the weights of products, which read all elements of them.
static void countForward(const Function &function, const Ranges &ranges,
                         ProfileMatch &match) {
  llvm::StringSet<> weights;
  for (const Op &op : function.ops) {
    if (isMeasured(op))
      match.count(!ranges.of(op).empty(), op.node.empty() ? op.op : op.node);
    for (const Operand &operand : op.operands) {
      uint64_t width = widthOf(operand.dtype);
      if (op.precisionClass == "low" && !operand.origin.state.empty() &&
          width != 0 && weights.insert(operand.origin.state).second)
        match.countWeight(operand.origin.state, operand.bytes / width);
    }
  }
}

llvm::Expected<Ranges> Ranges::match(const Report &report,
                                     const Profile &profile) {
  Ranges ranges(profile);
  for (const Function &function : report.functions) {
    ProfileMatch match = ranges.add(function);
    if (&function != report.principal())
      continue;
    countForward(function, ranges, match);
    if (llvm::Error error = match.check())
      return error;
    ranges.lacks = match.lacks();
  }
  return ranges;
}
