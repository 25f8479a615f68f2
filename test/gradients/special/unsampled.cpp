//===- unsampled.cpp - Ops without rows of special points -----------------===//

#include "test/gradients/special/unsampled.h"

#include "compiler/Import/Graph/OpTable.h"

#include <set>

namespace mpc::test {

/// The ops of ONNX Runtime, except those that have rows.
static void addMicrosoftOps(std::vector<UnsampledOp> &ops) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all;
    forEachOp([&](llvm::StringRef, const OpRow &row) {
      if (row.op.starts_with("com.microsoft."))
        all.insert(row.op.str());
    });
    all.erase("com.microsoft.ReduceAllL2");
    return all;
  }();
  for (const std::string &name : names)
    ops.push_back({name.c_str(), "is compared in test/onnx/microsoft_ops.py"});
}

const std::vector<UnsampledOp> &opsWithoutSpecialPoints() {
  static const char *const isLinear = "is linear in each of its inputs",
                           *const moves = "moves elements",
                           *const isBody = "computes what its graph does";
  static const std::vector<UnsampledOp> ops = [] {
    // Ops without gradients have no samples.
    std::vector<UnsampledOp> result = unsampledOps();
    for (const char *op :
         {"Add", "Sub", "Neg", "Sum", "Mean", "ReduceSum", "GlobalAveragePool",
          "Gemm", "MatMul", "Conv", "ConvTranspose", "Col2Im", "DFT",
          "AffineGrid", "RotaryEmbedding"})
      result.push_back({op, isLinear});
    for (const char *op :
         {"Cast", "Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze",
          "Transpose", "DepthToSpace", "SpaceToDepth", "CenterCropPad",
          "SplitToSequence", "SequenceAt", "SequenceConstruct",
          "SequenceInsert", "SequenceErase", "ConcatFromSequence"})
      result.push_back({op, moves});
    for (const char *op : {"Loop", "Scan"})
      result.push_back({op, isBody});
    result.push_back({"OneHot", "has the gradients of Where"});
    result.push_back({"RoiAlign", "is linear in the image, and its regions "
                                  "have no gradient, as in PyTorch"});
    result.push_back({"LinearAttention", "is products, sums and exponentials"});
    result.push_back({"CausalConvWithState", "is a convolution and Swish"});
    addMicrosoftOps(result);
    return result;
  }();
  return ops;
}

} // namespace mpc::test
