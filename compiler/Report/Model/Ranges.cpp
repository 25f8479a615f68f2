//===- Ranges.cpp - What a profile says of the ops of a report ------------===//

#include "compiler/Report/Model/Ranges.h"

#include "compiler/Report/Text/Text.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;

/// Bytes of "f32" or "bf16"; 0 if it is no float that we know.
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

void Ranges::add(const Function &function) {
  std::map<std::pair<StringRef, StringRef>, std::vector<const Op *>> groups;
  for (const Op &op : function.ops)
    groups[{op.node.empty() ? op.op : op.node, op.op}].push_back(&op);
  for (const auto &[key, ops] : groups) {
    Tensors tensors;
    for (const ProfiledTensor &tensor : source->find(key.first))
      if (tensor.op == key.second)
        tensors.push_back(&tensor);
    // An op has several results, or a node several such ops: each as many.
    size_t each = tensors.size() / ops.size();
    if (each * ops.size() == tensors.size())
      for (auto [i, op] : llvm::enumerate(ops))
        known[op].assign(tensors.begin() + i * each,
                         tensors.begin() + (i + 1) * each);
  }
}

llvm::Error Ranges::checkForward(const Report &report,
                                 const Function &function) {
  size_t all = 0, missing = 0;
  std::string first;
  for (const Op &op : function.ops) {
    // A view is what it shows, and not measured again. What mixed precision
    // adds is in no f32 program, and the loss depends on micro-batches.
    if (op.phase != Phase::Forward || op.resultType.empty() ||
        op.cost.bytes == 0 || StringRef(op.op).starts_with("amp.") ||
        op.node == kLossNode)
      continue;
    ++all;
    if (!of(op).empty())
      continue;
    if (missing++ == 0)
      first = op.node.empty() ? op.op : op.node;
  }
  if (missing == 0)
    return llvm::Error::success();
  std::string what = std::to_string(missing) + " of " + count(all, "op") +
                     " in the forward pass of '" + report.model +
                     "', such as '" + first + "'";
  if (2 * missing > all)
    return source->refuse("it lacks " + what);
  lacks = what;
  return llvm::Error::success();
}

/// Products read all of a weight.
llvm::Error Ranges::checkWeights(const Function &function) const {
  for (const Op &op : function.ops)
    for (const Operand &operand : op.operands) {
      uint64_t width = widthOf(operand.dtype);
      if (op.precisionClass != "low" || operand.origin.state.empty() ||
          width == 0)
        continue;
      llvm::ArrayRef<ProfiledTensor> tensors =
          source->find(operand.origin.state);
      uint64_t elements = operand.bytes / width;
      if (!tensors.empty() && tensors[0].op.empty() &&
          tensors[0].elements != elements)
        return source->refuse("its '" + operand.origin.state + "' has " +
                              count(tensors[0].elements, "element") + ", not " +
                              llvm::Twine(elements));
    }
  return llvm::Error::success();
}

llvm::Expected<Ranges> Ranges::match(const Report &report,
                                     const Profile &profile) {
  Ranges ranges(profile);
  for (const Function &function : report.functions)
    ranges.add(function);
  if (const Function *function = report.principal()) {
    if (llvm::Error error = ranges.checkForward(report, *function))
      return error;
    if (llvm::Error error = ranges.checkWeights(*function))
      return error;
  }
  return ranges;
}
