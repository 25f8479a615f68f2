//===- UseFp8.cpp - Use FP8 products in linear layers ---------------------===//
//
// Implements mpc-use-fp8. Fp8Layers finds the layers, Fp8Scales manages their
// scales; this file chooses layers and rewrites their products.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/Fp8Layers.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Analysis/Precision/Sensitivities.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Precision/Precisions.h"
#include "compiler/Target/Backend.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Options/PassOptions.h"
#include "passes/Precision/Fp8/Fp8Scales.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/Report/DecisionText.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/DebugLog.h"

#include <cmath>

#define DEBUG_TYPE "mpc-use-fp8"

namespace mpc {
#define GEN_PASS_DEF_USEFP8PASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// The value to round for `operand`: the operand of a cast to 16 bit, to avoid
/// rounding twice. Does not look through views, because the viewed tensor may
/// have other users.
static Value sourceOf(Value operand) {
  auto cast = operand.getDefiningOp<amp::CastOp>();
  return cast && !isWeight(operand) ? cast.getInput() : operand;
}

static bool isBefore(Value value, Value other) {
  Operation *definition = value.getDefiningOp();
  return !definition || (other.getDefiningOp() &&
                         definition->isBeforeInBlock(other.getDefiningOp()));
}

namespace {

/// Rounds the operands of the products of one function.
class Rounding {
public:
  Rounding(func::FuncOp func, const Precision &program,
           const llvm::DenseSet<Value> &gradients, int64_t margin)
      : builder(func.getContext()), program(program), gradients(gradients),
        margin(margin) {}

  FloatType formatOf(Value value) {
    Format format =
        gradients.contains(value) ? *program.backward : *program.forward;
    return amp::elementTypeOf(builder.getContext(), format);
  }

  /// Records the values that the layers need rounded. Weights are rounded with
  /// a scale of their own magnitude, and so are all values if scaling is not
  /// `delayed`.
  void collect(ArrayRef<LinearLayer> layers, bool delayed) {
    for (const LinearLayer &layer : layers)
      for (train::ContractionOpInterface product : layer.products())
        for (Value operand : product->getOperands()) {
          Value value = sourceOf(operand);
          auto [it, isNew] =
              sources.insert({train::skipReshapes(value), value});
          if (!isNew && isBefore(value, it->second))
            it->second = value;
        }
    for (auto [base, value] : sources)
      if (delayed && !isWeight(value))
        tensors.push_back({value, formatOf(value), firstScale(value)});
  }

  ArrayRef<ScaledTensor> delayedTensors() const { return tensors; }

  void setScales(ArrayRef<Value> values) {
    for (auto [tensor, scale] : llvm::zip_equal(tensors, values))
      scales[tensor.value] = scale;
  }

  void rewrite(train::ContractionOpInterface product) {
    Value lhs = product->getOperand(0), rhs = product->getOperand(1);
    Value result = product->getResult(0);
    product->setOperand(0, rounded(lhs));
    product->setOperand(1, rounded(rhs));
    builder.setInsertionPointAfter(product);
    auto unscaled =
        amp::DequantizeOp::create(builder, product.getLoc(), result,
                                  scaleOf(find(lhs)), scaleOf(find(rhs)));
    result.replaceAllUsesExcept(unscaled.getResult(), unscaled);
    follow(result, unscaled.getResult());
    for (Value operand : {lhs, rhs})
      eraseIfDead(operand);
  }

private:
  /// Records that `unscaled` has replaced `product`: a layer may read the
  /// result of another layer directly.
  void follow(Value product, Value unscaled) {
    for (auto &[base, value] : sources)
      if (value == product)
        value = unscaled;
    auto base = sources.find(product);
    if (base != sources.end()) {
      Value value = base->second;
      sources.insert({unscaled, value});
    }
    for (auto *known : {&scales, &copies})
      if (Value value = known->lookup(product))
        (*known)[unscaled] = value;
  }

  /// Gradients of a mean are about 1 / rows; without a scale they would all
  /// round to zero in the first step. A scale that is too large only clips.
  double firstScale(Value value) {
    if (!gradients.contains(value))
      return 1;
    auto type = cast<RankedTensorType>(value.getType());
    int64_t rows = 1;
    for (int64_t extent : type.getShape().drop_back())
      rows *= extent;
    return std::exp2(std::floor(std::log2(static_cast<double>(rows))));
  }

  Value scaleOf(Value value) {
    Value &scale = scales[value];
    if (scale)
      return scale;
    Location loc = value.getLoc();
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(value);
    Value amax = amp::AmaxOp::create(builder, loc, value);
    Value largest = createScalar(builder, loc, builder.getF32Type(),
                                 largestOf(formatOf(value), margin));
    Value one = createScalar(builder, loc, builder.getF32Type(), 1);
    return scale = amp::ScaleOfOp::create(builder, loc, amax, largest, one);
  }

  /// The value that is rounded for `operand` and for all views of the same
  /// tensor.
  Value find(Value operand) {
    return sources.find(train::skipReshapes(sourceOf(operand)))->second;
  }

  /// `operand` in 8 bit, rounded once for all products that read it.
  Value rounded(Value operand) {
    Value value = find(operand);
    Value &quantized = copies[value];
    if (!quantized) {
      Value scale = scaleOf(value);
      builder.setInsertionPointAfterValue(isLater(scale, value) ? scale
                                                                : value);
      auto type = cast<RankedTensorType>(value.getType());
      quantized = amp::QuantizeOp::create(
          builder, value.getLoc(), type.clone(formatOf(value)), value, scale);
    }
    auto shape = cast<RankedTensorType>(operand.getType()).getShape();
    auto type = cast<RankedTensorType>(quantized.getType());
    if (type.getShape() == shape)
      return quantized;
    builder.setInsertionPointAfterValue(quantized);
    return train::ReshapeOp::create(builder, operand.getLoc(),
                                    type.clone(shape), quantized);
  }

  static bool isLater(Value scale, Value value) {
    Operation *definition = value.getDefiningOp();
    return !definition || definition->isBeforeInBlock(scale.getDefiningOp());
  }

  static void eraseIfDead(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (!isOpTriviallyDead(op) || op->getNumOperands() == 0)
        return;
      value = op->getOperand(0);
      op->erase();
    }
  }

  OpBuilder builder;
  const Precision &program;
  const llvm::DenseSet<Value> &gradients;
  int64_t margin;
  llvm::MapVector<Value, Value> sources; ///< By the tensors they view.
  llvm::DenseMap<Value, Value> scales;
  llvm::DenseMap<Value, Value> copies;
  SmallVector<ScaledTensor> tensors;
};

struct UseFp8Pass : PassWithOptions<mpc::impl::UseFp8PassBase<UseFp8Pass>,
                                    Fp8Options, ProfileOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto precision = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    if (!precision || !precisionOf(precision.getValue()).hasFp8())
      return;
    program = &precisionOf(precision.getValue());
    func::FuncOp func = train::Program(module).trainingEntry();
    if (!func)
      return; // Nothing is trained, and predictions use 16 bit.
    llvm::DenseSet<Value> gradients = findGradients(func);
    if (gradients.empty()) {
      emitUsageError(func.getLoc())
          << "option 'precision'=" << program->name
          << " requires the gradient of the loss, but no gradient in the "
             "model's own training step begins at a loss; use bf16";
      return signalPassFailure();
    }
    SmallVector<LinearLayer> layers = findLinearLayers(func, gradients);
    if (failed(findAffordable(func, layers)) || failed(choose(layers)))
      return signalPassFailure();
    if (layers.empty() && program->layers != Precision::AllLayers)
      return;
    if (layers.empty())
      return addNote(module,
                     "option 'precision'=" + std::string(program->name) +
                         ": no linear layer can use FP8, so everything runs in "
                         "bf16; run 'mpc report' for the reasons");

    Rounding rounding(func, *program, gradients, fp8Margin);
    rounding.collect(layers, fp8Scaling == "delayed");
    if (!rounding.delayedTensors().empty()) {
      DelayedScales delayed(module, rounding.delayedTensors(), fp8History,
                            fp8Margin);
      delayed.createStates();
      rounding.setScales(delayed.readScales(func));
      delayed.advance(func, train::Program(module).updateEntry());
    }
    for (LinearLayer &layer : layers)
      for (train::ContractionOpInterface product : layer.products())
        rounding.rewrite(product);
  }

private:
  const Precision *program = nullptr;
  llvm::StringSet<> affordable; ///< Set if there is a profile.

  /// Finds the layers whose errors fit in the remaining budget, starting with
  /// those that save the most time for their error.
  LogicalResult findAffordable(func::FuncOp func,
                               ArrayRef<LinearLayer> layers) {
    affordable.clear();
    if (profileFile.empty())
      return success();
    llvm::Expected<Profile> known = Profile::read(profileFile);
    if (!known)
      return emitUsageError(func.getLoc())
             << "option 'profile': " << llvm::toString(known.takeError());
    Sensitivities sensitivities(*known, func);
    struct Candidate {
      std::string name;
      double saved, error;
    };
    SmallVector<Candidate> candidates;
    for (const LinearLayer &layer : layers) {
      double error = 0;
      for (Value operand : layer.forward->getOperands()) {
        Value value = train::skipReshapes(operand);
        if (auto cast = value.getDefiningOp<amp::CastOp>())
          value = cast.getInput();
        error += sensitivities.of(value).of(*program->forward);
      }
      candidates.push_back(
          {layer.name, timeSavedByFp8(layer, accelerator), error});
    }
    llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) {
      return a.saved * b.error > b.saved * a.error;
    });
    auto spent =
        func->getParentOfType<ModuleOp>()->getAttrOfType<FloatAttr>(kErrorAttr);
    double left =
        errorBudget * errorBudget - (spent ? spent.getValueAsDouble() : 0);
    for (const Candidate &candidate : candidates)
      if (candidate.error <= left) {
        left -= candidate.error;
        affordable.insert(candidate.name);
      }
    return success();
  }

  /// Removes the layers that stay in 16 bit from `layers`, and records the
  /// decision about each.
  LogicalResult choose(SmallVectorImpl<LinearLayer> &layers) {
    SmallVector<LinearLayer> chosen;
    for (auto [i, layer] : llvm::enumerate(layers)) {
      bool isEdge = i == 0 || i + 1 == layers.size();
      std::optional<Format> wanted = amp::getFormat(layer.forward);
      bool isWanted = wanted == program->forward;
      std::optional<amp::Decision> kept = whyNotFp8(layer);
      if (isWanted && kept)
        return emitUsageError(layer.forward.getLoc())
               << "node '" << layer.name << "' cannot be "
               << factsOf(*program->forward).option << ": " << textOf(*kept);
      if (!wanted && !kept)
        kept = whyBetterNot(layer, isEdge);
      if (wanted && !isWanted)
        kept = amp::Decision{Rule::Fp8Option};
      amp::Decision decision = kept.value_or(
          amp::Decision{wanted ? Rule::OptionFp8 : Rule::Fp8,
                        {name(*program->forward), name(*program->backward)}});
      for (train::ContractionOpInterface product : layer.products())
        amp::setDecision(product, decision);
      LDBG() << layer.name << ": " << idOf(decision.rule);
      if (!kept)
        chosen.push_back(layer);
    }
    layers = std::move(chosen);
    return success();
  }

  Attribute name(Format format) {
    return StringAttr::get(&getContext(), factsOf(format).name);
  }

  std::optional<amp::Decision> whyBetterNot(const LinearLayer &layer,
                                            bool isEdge) {
    if (isEdge && !fp8Edges)
      return amp::Decision{Rule::Fp8Edge};
    if (!profileFile.empty() && !affordable.contains(layer.name))
      return amp::Decision{Rule::Fp8Budget};
    double saved = timeSavedByFp8(layer, accelerator);
    if (onGpu && saved <= 0)
      return amp::Decision{Rule::Fp8Slower,
                           {Builder(&getContext()).getF64FloatAttr(-saved)}};
    return std::nullopt;
  }

  /// The GPU by which gains are estimated, for every device.
  const Machine accelerator = machineOfFp8();
};

} // namespace

std::unique_ptr<Pass> mpc::createUseFp8Pass(const CompileOptions &options,
                                            UseFp8PassOptions own) {
  return std::make_unique<UseFp8Pass>(options, std::move(own));
}
