//===- Sensitivities.cpp - What rounding a tensor does to the loss --------===//

#include "passes/Precision/Sensitivities.h"

#include "compiler/Support/Locations.h"
#include "passes/Precision/PrecisionFacts.h"

using namespace mlir;
using namespace mpc;

/// What no gradient is known of counts as insensitive.
static Sensitivity sensitivityOf(const ProfiledTensor &tensor) {
  return tensor.sensitivity.value_or(Sensitivity());
}

Sensitivities::Sensitivities(const Profile &profile, func::FuncOp func) {
  // How many results of a node and op were met, and what its first op has.
  llvm::StringMap<unsigned> met;
  llvm::StringMap<Sensitivity> first;
  auto find = [&](StringRef name, StringRef op) -> const ProfiledTensor * {
    unsigned skipped = met[(name + "\n" + op).str()]++;
    for (const ProfiledTensor &tensor : profile.find(name))
      if (tensor.op == op && skipped-- == 0)
        return &tensor;
    return nullptr;
  };
  for (Operation &op : func.front()) {
    StringRef mnemonic = op.getName().getStringRef();
    StringRef name = nodeName(op.getLoc());
    bool isGradient = name.consume_back(".grad");
    for (Value result : op.getResults()) {
      if (!getFloatElementType(result.getType()))
        continue;
      if (StringRef weight = stateName(result); !weight.empty()) {
        ArrayRef<ProfiledTensor> tensors = profile.find(weight);
        if (!tensors.empty())
          known[result] = sensitivityOf(tensors.front());
        continue;
      }
      if (name.empty())
        continue;
      if (isGradient) {
        if (auto found = first.find(name); found != first.end())
          known[result] = found->second;
        continue;
      }
      if (const ProfiledTensor *tensor = find(name, mnemonic)) {
        known[result] = sensitivityOf(*tensor);
        // That of the loss itself is no tensor's.
        if (cast<ShapedType>(result.getType()).getNumElements() > 1)
          first.try_emplace(name, sensitivityOf(*tensor));
      }
    }
  }
}
