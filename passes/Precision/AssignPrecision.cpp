//===- AssignPrecision.cpp - Choose f32 or 16 bit by a cut ----------------===//
//
// Implements mpc-assign-precision. Labelling makes the choice; this file reads
// the user's options and applies the choice to the IR: it changes the element
// types of results in place, and adds one cast at each producer for each other
// type that is needed.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/Labelling.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Analysis/Precision/Residuals.h"
#include "compiler/Analysis/Precision/Sensitivities.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Precision/Precisions.h"
#include "compiler/Support/UserInput/Nearest.h"
#include "compiler/Support/UserInput/UserRegex.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Options/PassOptions.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/RoundElements.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/Format.h"

#include <cmath>
#include <optional>

#define DEBUG_TYPE "mpc-assign-precision"

namespace mpc {
#define GEN_PASS_DEF_ASSIGNPRECISIONPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

// Reasons in the reports of packages. Their wording never changes.

//===----------------------------------------------------------------------===//
// User rules
//===----------------------------------------------------------------------===//

namespace {

/// One rule for ops with matching names: "head" from option 'keep-fp32', or
/// "conv=fp32" from 'op-precision' or a policy.
class NodeFilter {
public:
  NodeFilter(StringRef option, StringRef pattern, std::optional<Format> format)
      : NodeFilter(option, pattern, pattern, format) {}

  /// `text` is what the user wrote, including the pattern. No format means 16
  /// bit in a program without a 16-bit format.
  NodeFilter(StringRef option, StringRef text, StringRef pattern,
             std::optional<Format> format)
      : option(option), text(text), pattern(pattern),
        regex(compileUserRegex(pattern, fault)), format(format) {}

  LogicalResult verify(Operation *module) const {
    if (pattern.empty() || regex)
      return success();
    return emitUsageError(module->getLoc())
           << "option '" << option << "' is not a regular expression: '"
           << pattern << "': " << fault;
  }

  /// Searches the pattern in each of the op's nodes' name, with and without the
  /// gradient suffix, module path (from `paths`, which may be null) and type;
  /// in the mnemonic only if the op belongs to no node. Ops that read weights
  /// never match: they have the weight's name, but compute nothing.
  bool matches(Operation *op, DictionaryAttr paths) {
    if (pattern.empty() || op->hasTrait<train::AccessesStates>())
      return false;
    bool found = false, isNamed = false;
    visitNodes(op->getLoc(), [&](StringRef name, StringRef type) {
      isNamed |= !name.empty();
      StringRef forward = name;
      forward.consume_back(kGradientSuffix);
      auto path = paths ? paths.getAs<StringAttr>(forward) : StringAttr();
      StringRef module = path ? path.getValue() : StringRef();
      for (StringRef text : {name, forward, type, module})
        found |= !text.empty() && regex->match(text);
      // Neither initializers nor the optimizer are nodes of the model.
      if (type == "initializer" || forward == kOptimizerNode)
        return;
      for (StringRef text : {forward, type, module})
        seen.insert(text);
    });
    if (!isNamed)
      found = regex->match(op->getName().stripDialect());
    matched |= found;
    return found;
  }

  LogicalResult verifyUsed(Operation *module) const {
    if (pattern.empty() || matched)
      return success();
    auto names = llvm::to_vector(seen.keys());
    return emitUsageError(module->getLoc())
           << "option '" << option << "'='" << text
           << "' matches no node and no op type"
           << describeNearest(pattern, names);
  }

  PrecisionOverride override() const {
    return {format, ruleOf((idOf(Rule::Option) + "." + option).str()).value(),
            text.str()};
  }

private:
  StringRef option, text, pattern;
  std::string fault; ///< What is wrong with the pattern.
  std::optional<llvm::Regex> regex;
  std::optional<Format> format;
  llvm::StringSet<> seen; ///< Names of nodes.
  bool matched = false;
};

/// All user rules for single ops.
class UserRules {
public:
  /// `low` is the 16-bit format of the program, if it has one.
  UserRules(StringRef keepFp32, StringRef forceLow, std::optional<Format> low)
      : keep("keep-fp32", keepFp32, Format::F32),
        force("force-low", forceLow, low) {}

  void add(StringRef option, StringRef text, StringRef pattern,
           std::optional<Format> format) {
    rules.emplace_back(option, text, pattern, format);
  }
  /// kModulePathsAttr, which may be null.
  void setPaths(DictionaryAttr dictionary) { paths = dictionary; }
  /// Ops kept in f32 unless a rule overrides it.
  void setResiduals(llvm::DenseSet<Operation *> ops) {
    residuals = std::move(ops);
  }

  LogicalResult verify(Operation *module) const {
    return success(succeeded(keep.verify(module)) &&
                   succeeded(force.verify(module)) &&
                   llvm::all_of(rules, [&](const NodeFilter &rule) {
                     return succeeded(rule.verify(module));
                   }));
  }

  /// The last match counts, but 'keep-fp32' and 'force-low' take precedence.
  PrecisionOverride of(Operation *op) {
    PrecisionOverride last;
    if (residuals.contains(op))
      last = {Format::F32, Rule::Option, "residual=fp32"};
    for (NodeFilter &rule : rules)
      if (rule.matches(op, paths))
        last = rule.override();
    bool wide = keep.matches(op, paths), low = force.matches(op, paths);
    if (wide && low && !conflict)
      conflict = op;
    if (wide)
      return keep.override();
    return low ? force.override() : last;
  }

  LogicalResult verifyAgreed() const {
    if (!conflict)
      return success();
    return emitUsageError(conflict->getLoc())
           << "option 'keep-fp32' and option 'force-low' both match node '"
           << nodeName(conflict->getLoc()) << "'";
  }

  LogicalResult verifyUsed(Operation *module) const {
    bool areUsed = succeeded(keep.verifyUsed(module));
    areUsed &= succeeded(force.verifyUsed(module));
    for (const NodeFilter &rule : rules)
      areUsed &= succeeded(rule.verifyUsed(module));
    return success(areUsed);
  }

private:
  NodeFilter keep, force;
  SmallVector<NodeFilter> rules;
  DictionaryAttr paths;
  llvm::DenseSet<Operation *> residuals;
  Operation *conflict = nullptr; ///< An op that is both kept and forced.
};

} // namespace

//===----------------------------------------------------------------------===//
// From labels to types
//===----------------------------------------------------------------------===//

/// `value` as `type`: for a constant another constant, else a cast.
static Value convert(OpBuilder &builder, Value value, Type type) {
  Location loc = value.getLoc();
  auto constant = value.getDefiningOp<train::ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
  if (!elements)
    return amp::CastOp::create(builder, loc, type, value);

  auto target = cast<FloatType>(getElementTypeOrSelf(type));
  return train::ConstantOp::create(builder, loc,
                                   roundElements(elements, target, ""));
}

/// Stores `value` in the type of its label, and gives the uses that need the
/// other type one converted copy.
static void applyLabel(OpBuilder &builder, Value value,
                       const Labelling &labelling, FloatType lowType) {
  auto f32 = cast<RankedTensorType>(value.getType());
  auto low = RankedTensorType::get(f32.getShape(), lowType);
  bool storedLow = labelling.isLow(value);
  SmallVector<OpOperand *> others;
  for (OpOperand &use : value.getUses())
    if (labelling.isLow(use) != storedLow)
      others.push_back(&use);

  if (storedLow)
    value.setType(low);
  if (others.empty())
    return;
  LDBG() << "casting " << value << " for " << others.size() << " uses";
  Value other = convert(builder, value, storedLow ? f32 : low);
  for (OpOperand *use : others)
    use->set(other);
}

/// Ops that the user forces to 16 bit read and store masks: values beyond the
/// range of the type become its largest number instead of infinity.
static void clampMasks(Operation *op, FloatType lowType) {
  if (!isUserChosen(op) || llvm::none_of(op->getResultTypes(), isLowTensor))
    return;
  OpBuilder builder(op);
  for (OpOperand &use : op->getOpOperands()) {
    auto constant = use.get().getDefiningOp<train::ConstantOp>();
    auto elements =
        constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : nullptr;
    if (!elements || !elements.getElementType().isF32())
      continue;
    DenseFPElementsAttr clamped = clampElements(elements, lowType);
    if (clamped != elements)
      use.set(train::ConstantOp::create(builder, constant.getLoc(), clamped));
  }
}

/// Records the proven ranges of results for the report.
static void describeRanges(func::FuncOp func, const Ranges &ranges) {
  for (Operation &op : func.front()) {
    if (!isReported(&op) || op.getNumResults() == 0)
      continue;
    const amp::NumberRange &range = ranges.of(op.getResult(0)).range;
    if (!range.isUnknown())
      op.setAttr(kProvenRangeAttr,
                 StringAttr::get(op.getContext(), range.text()));
  }
}

static void assignTypes(func::FuncOp func, const Ranges &ranges,
                        const Labelling &labelling, FloatType lowType) {
  // Explanations compare sizes in bytes, so they must precede the type changes.
  for (Operation &op : func.front()) {
    if (!isReported(&op))
      continue;
    if (llvm::none_of(op.getOperandTypes(), isF32Tensor) &&
        llvm::none_of(op.getResultTypes(), isF32Tensor)) {
      amp::setDecision(&op, {Rule::PrecisionNotF32});
      continue;
    }
    amp::setDecision(&op, labelling.explain(&op));
    auto precision = cast<amp::PrecisionOpInterface>(op);
    if (classForRange(precision, lowType, ranges) !=
        precision.getPrecisionClass(lowType))
      op.setAttr(kProvenAttr, UnitAttr::get(op.getContext()));
    // For UseFp8 and UseTf32.
    if (std::optional<Format> format = labelling.givenFormatOf(&op))
      amp::setFormat(&op, *format);
  }

  SmallVector<Value> values;
  llvm::append_range(values, func.getArguments());
  for (Operation &op : func.front())
    llvm::append_range(values, op.getResults());
  OpBuilder builder(func.getContext());
  Operation *first = &func.front().front();
  for (Value value : values) {
    if (!isF32Tensor(value.getType()))
      continue;
    if (Operation *producer = value.getDefiningOp())
      builder.setInsertionPointAfter(producer);
    else
      builder.setInsertionPoint(first);
    applyLabel(builder, value, labelling, lowType);
  }
  for (Operation &op : func.front())
    clampMasks(&op, lowType);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct AssignPrecisionPass
    : PassWithOptions<mpc::impl::AssignPrecisionPassBase<AssignPrecisionPass>,
                      PrecisionOptions, ProfileOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FloatType lowType = getLowType(&getContext(), precision);
    UserRules rules(keepFp32, forceLow, precisionOf(precision).tensors);
    rules.setPaths(
        getOperation()->getAttrOfType<DictionaryAttr>(kModulePathsAttr));
    if (failed(addRules("policy", policy, rules)) ||
        failed(addRules("op-precision", opPrecision, rules)) ||
        failed(rules.verify(module)))
      return signalPassFailure();

    module->setAttr(kPrecisionAttr, StringAttr::get(&getContext(), precision));
    if (!lowType)
      explainPrecision(module, rules);
    else if (failed(assign(module, lowType, rules)))
      return signalPassFailure();
    if (failed(rules.verifyUsed(module)))
      signalPassFailure();
  }

  /// Reads rules "REGEX=FORMAT".
  LogicalResult addRules(StringRef option, ArrayRef<std::string> texts,
                         UserRules &rules) {
    for (StringRef text : texts) {
      auto [pattern, name] = text.rsplit('=');
      auto refuse = [&] {
        return emitUsageError(getOperation().getLoc())
               << "option '" << option << "'='" << text << "': ";
      };
      if (pattern.empty())
        return refuse() << "must be REGEX=FORMAT";
      if (name == "low") {
        rules.add(option, text, pattern, precisionOf(precision).tensors);
        continue;
      }
      const FormatFacts *format = findFormat(name, &FormatFacts::option);
      if (!format)
        return refuse() << "unknown format '" << name << "'; use "
                        << describeFormats();
      if (!canGive(*format))
        return refuse() << name << " requires option 'precision'=" << name
                        << "; with " << precision << ", use "
                        << describeFormats();
      rules.add(option, text, pattern, format->format);
    }
    return success();
  }

  /// "fp32, tf32, bf16 or low"
  std::string describeFormats() {
    std::string text;
    for (const FormatFacts &row : kFormats)
      if (!row.option.empty() && canGive(row))
        (text += row.option) += ", ";
    return StringRef(text).drop_back(2).str() + " or low";
  }

  /// Whether single ops may have the format in a program of this precision.
  bool canGive(const FormatFacts &row) {
    const Precision &program = precisionOf(precision);
    switch (row.use) {
    case FormatFacts::Wide:
      return row.format == Format::F32;
    case FormatFacts::Product:
      return program.wide == Format::F32;
    case FormatFacts::Tensor:
      return row.format == program.tensors;
    case FormatFacts::Layer:
      return row.format == program.forward;
    case FormatFacts::LayerGradient:
      return false;
    }
    llvm_unreachable("not a use of formats");
  }

  LogicalResult assign(ModuleOp module, FloatType lowType, UserRules &rules) {
    bool foundResiduals = false;
    auto overrideOf = [&](Operation *op) { return rules.of(op); };
    std::optional<Profile> known;
    if (!profileFile.empty() && failed(readProfile(module, known)))
      return failure();
    ErrorCosts costs;
    costs.bytesPerFlop = bytesPerFlop;
    ConstantFacts constants;
    if (known && failed(findErrorCosts(module, constants, lowType, *known,
                                       overrideOf, costs)))
      return failure();
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (train::hasRole(func, train::EntryRole::Initialize)) {
        func.walk([](Operation *op) {
          if (isReported(op))
            amp::setDecision(op, {Rule::PrecisionInitial});
        });
        continue;
      }
      if (residual == "fp32") {
        llvm::DenseSet<Operation *> residuals = findResidualSums(func);
        foundResiduals |= !residuals.empty();
        rules.setResiduals(std::move(residuals));
      }
      std::optional<Sensitivities> sensitivities;
      if (known) {
        sensitivities.emplace(*known, func);
        costs.errorOf = [&](Value value) {
          return sensitivities->of(value).of(*amp::formatOf(lowType));
        };
      }
      Ranges ranges(func, constants);
      describeRanges(func, ranges);
      Labelling labelling(func, ranges, lowType, minimumGain, overrideOf,
                          known ? &costs : nullptr);
      if (failed(rules.verifyAgreed()))
        return failure();
      assignTypes(func, ranges, labelling, lowType);
    }
    if (residual == "fp32" && !foundResiduals)
      return emitUsageError(module.getLoc())
             << "option 'residual'=fp32: the model has no residual stream (no "
                "sum of a tensor with a product computed from it)";
    return success();
  }

  LogicalResult readProfile(ModuleOp module, std::optional<Profile> &known) {
    llvm::Expected<Profile> read = Profile::read(profileFile);
    if (!read)
      return emitUsageError(module.getLoc())
             << "option 'profile': " << llvm::toString(read.takeError());
    known = std::move(*read);
    return success();
  }

  /// Finds the lowest price of errors at which the error of the training
  /// function is within the budget: the higher the price, the less is rounded.
  LogicalResult findErrorCosts(ModuleOp module, ConstantFacts &constants,
                               FloatType lowType, const Profile &known,
                               Labelling::OverrideFn overrideOf,
                               ErrorCosts &costs) {
    func::FuncOp training = train::Program(module).trainingEntry();
    if (!training)
      return emitUsageError(module.getLoc())
             << "option 'profile' has no effect: the model is not trained";
    Sensitivities sensitivities(known, training);
    if (llvm::Error error = sensitivities.match().check())
      return emitUsageError(module.getLoc())
             << "option 'profile': " << llvm::toString(std::move(error));
    if (std::string lacks = sensitivities.match().lacks(); !lacks.empty())
      addNote(module, "option 'profile': '" + profileFile + "' lacks " + lacks +
                          "; these stay f32");
    costs.errorOf = [&](Value value) {
      return sensitivities.of(value).of(*amp::formatOf(lowType));
    };
    Ranges ranges(training, constants);
    auto errorAt = [&](double bytesPerError) {
      costs.bytesPerError = bytesPerError;
      return Labelling(training, ranges, lowType, minimumGain, overrideOf,
                       &costs)
          .error();
    };
    const double most = errorBudget * errorBudget;
    double error = errorAt(0);
    if (error > most) {
      // Bisect the exponent in steps of 1/16: a profile is not more exact.
      constexpr double kSteps = 16;
      int enough = 140 * kSteps, little = -20 * kSteps;
      while (enough - little > 1) {
        int middle = (enough + little) / 2;
        (errorAt(std::exp2(middle / kSteps)) <= most ? enough : little) =
            middle;
      }
      error = errorAt(std::exp2(enough / kSteps));
    }
    auto f64 = Float64Type::get(&getContext());
    module->setAttr(kErrorAttr, FloatAttr::get(f64, error));
    addNote(module, describeError(error));
    return success();
  }

  std::string describeError(double error) const {
    std::string note;
    llvm::raw_string_ostream os(note);
    os << llvm::format(
        "option 'error-budget'=%g: rounding to 16 bit changes the loss",
        double(errorBudget));
    if (error < Sensitivity::kUnknown)
      os << llvm::format(" by about %.2g", std::sqrt(error));
    else
      os << " by an unknown amount, not in the profile";
    if (error > errorBudget * errorBudget)
      os << ", which rules force";
    return note;
  }

  /// For programs without 16-bit types: no type changes, but the report gives
  /// reasons, and rules decide which products may use TF32.
  void explainPrecision(ModuleOp module, UserRules &rules) {
    ConstantFacts constants;
    for (auto func : module.getOps<func::FuncOp>())
      if (!func.isExternal())
        describeRanges(func, Ranges(func, constants));
    module.walk([&](Operation *op) {
      if (!isReported(op))
        return;
      amp::setDecision(op, {Rule::Precision,
                            {StringAttr::get(op->getContext(), precision)}});
      PrecisionOverride override = rules.of(op);
      if (!override.is(FormatFacts::Wide) && !override.is(FormatFacts::Product))
        return;
      amp::setDecision(op, override.decision(op->getContext()));
      amp::setFormat(op, *override.format);
    });
  }
};

} // namespace

std::unique_ptr<Pass>
mpc::createAssignPrecisionPass(const CompileOptions &options,
                               AssignPrecisionPassOptions own) {
  return std::make_unique<AssignPrecisionPass>(options, std::move(own));
}
