//===- PatchesToProducts.cpp - Convolutions of patches --------------------===//
//
// Implements mpc-patches-to-products. Windows that do not overlap are a
// permutation of the image, so their convolution is one matrix product. Kernels
// for convolutions are slow with the few channels that large patches have.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/Match.h"
#include "passes/Graph/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mpc {
#define GEN_PASS_DEF_PATCHESTOPRODUCTSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Elements of a window from which a product pays: smaller ones have many
/// channels, and move the image for little.
static constexpr int64_t kLeastWindow = 16;

static int64_t product(ArrayRef<int64_t> extents) {
  return ShapedType::getNumElements(extents);
}

static bool areAll(ArrayRef<int64_t> numbers, int64_t value) {
  return llvm::all_of(numbers, [&](int64_t number) { return number == value; });
}

/// Whether the windows of `op` divide the image into patches.
static bool readsPatches(train::ConvOp op) {
  ArrayRef<int64_t> image = shapeOf(op.getInput()).drop_front(2),
                    window = shapeOf(op.getWeight()).drop_front(2);
  return !op.getChannelsLast() && op.getGroup() == 1 &&
         op.getStrides() == window && areAll(op.getDilations(), 1) &&
         areAll(op.getPadsBegin(), 0) && areAll(op.getPadsEnd(), 0) &&
         product(window) >= kLeastWindow &&
         llvm::all_of(llvm::zip(image, window), [](auto extents) {
           return std::get<0>(extents) % std::get<1>(extents) == 0;
         });
}

namespace {

/// conv(x, w) -> first(patches(x) w^T), where patches [N, positions.., C *
/// window] have the order of the weight's elements.
struct PatchesToProduct : OpRewritePattern<train::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::ConvOp op,
                                PatternRewriter &rewriter) const override {
    if (!readsPatches(op))
      return rewriter.notifyMatchFailure(op, "its windows are no patches");
    Location loc = op.getLoc();
    ArrayRef<int64_t> image = shapeOf(op.getInput()),
                      weight = shapeOf(op.getWeight()),
                      result = shapeOf(op.getResult());
    const int64_t spatial = image.size() - 2;
    auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
      auto type = cast<RankedTensorType>(value.getType()).clone(shape);
      return train::ReshapeOp::create(rewriter, loc, type, value);
    };

    // [N, C, positions x window..] -> [N, positions.., C, window..]
    SmallVector<int64_t> divided = {image[0], image[1]}, order = {0};
    for (int64_t i = 0; i < spatial; ++i) {
      divided.append({result[2 + i], weight[2 + i]});
      order.push_back(2 + 2 * i);
    }
    order.push_back(1);
    for (int64_t i = 0; i < spatial; ++i)
      order.push_back(3 + 2 * i);
    Value patches = train::TransposeOp::create(
        rewriter, loc, reshape(op.getInput(), divided), order);
    const int64_t depth = product(weight.drop_front()),
                  rows = result[0] * product(result.drop_front(2));
    Value value = train::MatmulOp::create(
        rewriter, loc, reshape(patches, {rows, depth}),
        reshape(op.getWeight(), {weight[0], depth}),
        /*transpose_lhs=*/UnitAttr(), rewriter.getUnitAttr(),
        /*weight_gradient=*/UnitAttr(), /*layer=*/StringAttr());
    if (op.getBias())
      value = train::AddOp::create(rewriter, loc, value, op.getBias());

    SmallVector<int64_t> last = {result[0]}, toFirst = {0, spatial + 1};
    llvm::append_range(last, result.drop_front(2));
    last.push_back(result[1]);
    llvm::append_range(toFirst, llvm::seq<int64_t>(1, spatial + 1));
    rewriter.replaceOpWithNewOp<train::TransposeOp>(op, reshape(value, last),
                                                    toFirst);
    return success();
  }
};

struct PatchesToProductsPass
    : mpc::impl::PatchesToProductsPassBase<PatchesToProductsPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<PatchesToProduct>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
