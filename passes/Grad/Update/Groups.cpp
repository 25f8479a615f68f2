//===- Groups.cpp - Parameter groups --------------------------------------===//

#include "passes/Grad/Update/Groups.h"

#include "compiler/Dialect/Train/IR/Views.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/UserInput/Nearest.h"
#include "compiler/Support/UserInput/UserRegex.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// User options
//===----------------------------------------------------------------------===//

namespace {

/// One `--group` rule.
struct Rule {
  std::string pattern;
  std::optional<double> rate, decay; ///< Rate: a factor.
};

} // namespace

static FailureOr<Rule> parseRule(ModuleOp module, StringRef text,
                                 double baseRate) {
  auto refuse = [&](const Twine &why) {
    return emitUsageError(module.getLoc())
           << "option 'group'='" << text << "': " << why;
  };
  auto [pattern, settings] = text.rsplit(':');
  if (pattern.empty() || settings.empty())
    return refuse("must be REGEX:lr=NUMBER,weight-decay=NUMBER, or one of "
                  "these settings");
  Rule rule{pattern.str(), std::nullopt, std::nullopt};
  for (StringRef setting : llvm::split(settings, ',')) {
    auto [key, value] = setting.split('=');
    bool isFactor = key == "lr" && value.consume_back("x");
    double number;
    if (value.getAsDouble(number) || !(number >= 0) ||
        !std::isfinite(static_cast<float>(number)))
      return refuse("'" + setting +
                    "' must be lr=0.1x, lr=RATE or weight-decay=RATE, with a "
                    "number of at least 0");
    if ((key == "weight-decay" && rule.decay) || (key == "lr" && rule.rate))
      return refuse("'" + key + "' is set twice");
    if (key == "weight-decay") {
      rule.decay = number;
    } else if (key != "lr") {
      return refuse("'" + key + "' is not a setting; use lr or weight-decay");
    } else if (isFactor) {
      rule.rate = number;
    } else if (baseRate > 0) {
      rule.rate = number / baseRate;
    } else {
      return refuse("a rate needs option 'lr' above 0, or a factor: lr=0.1x");
    }
  }
  return rule;
}

/// Fails if `pattern`, of `option`, is not a regular expression.
static LogicalResult checkPattern(ModuleOp module, StringRef option,
                                  StringRef pattern) {
  std::string reason;
  if (compileUserRegex(pattern, reason))
    return success();
  return emitUsageError(module.getLoc())
         << option << "='" << pattern
         << "' is not a regular expression: " << reason;
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// Whether `value` is the result of a norm, with at most one more factor and
/// offset.
static bool isNormalized(Value value) {
  constexpr int kMaxOps = 8; // Reshapes, a factor and an offset.
  for (int i = 0; i < kMaxOps; ++i) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return false;
    if (op->hasTrait<train::Normalizes>())
      return true;
    if (!train::rearranges(op) && !isa<train::MulOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// Whether the parameter read as `value` is the scale or offset of a norm: as
/// its operand or, for norms of groups of channels, in a product or sum after
/// it.
static bool isNormParameter(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    bool isSecond = use.getOperandNumber() > 0;
    if (op->hasTrait<train::Normalizes>() && isSecond)
      return true;
    if (train::isReshape(op) && isNormParameter(op->getResult(0)))
      return true;
    if (isa<train::MulOp, train::AddOp>(op) && isSecond &&
        isNormalized(op->getOperand(0)))
      return true;
  }
  return false;
}

static bool isNormParameter(ModuleOp module, train::StateOp state) {
  bool found = false;
  module.walk([&](train::ReadOp read) {
    if (read.getState() == state.getSymName())
      found |= isNormParameter(read.getResult());
  });
  return found;
}

/// Whether `--no-decay=WHAT` applies to the parameter.
static bool isSelected(ModuleOp module, StringRef what, train::StateOp state) {
  bool isVector = cast<RankedTensorType>(state.getType()).getRank() <= 1;
  if (what == "norms")
    return isNormParameter(module, state);
  if (what == "biases")
    return isVector && !isNormParameter(module, state);
  return matchesUserRegex(what, state.getSymName());
}

/// Splits at commas outside brackets: "norms,fc[1,2]" is two patterns.
static SmallVector<StringRef> splitPatterns(StringRef text) {
  SmallVector<StringRef> patterns;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\')
      ++i;
    else if (c == '[' || c == '(' || c == '{')
      ++depth;
    else if (c == ']' || c == ')' || c == '}')
      --depth;
    else if (c == ',' && depth == 0) {
      patterns.push_back(text.slice(begin, i));
      begin = i + 1;
    }
  }
  patterns.push_back(text.drop_front(begin));
  return patterns;
}

FailureOr<ParameterGroups> ParameterGroups::find(ModuleOp module,
                                                 const GroupOptions &options) {
  SmallVector<Rule> rules;
  for (const std::string &text : options.groups) {
    FailureOr<Rule> rule = parseRule(module, text, options.rate);
    if (failed(rule) ||
        failed(checkPattern(module, "option 'group'", rule->pattern)))
      return failure();
    rules.push_back(*rule);
  }
  SmallVector<StringRef> exceptions;
  for (const std::string &text : options.noDecay)
    llvm::append_range(exceptions, splitPatterns(text));
  for (StringRef what : exceptions)
    if (failed(checkPattern(module, "option 'no-decay'", what)))
      return failure();
  auto isKind = [](StringRef what) {
    return what == "norms" || what == "biases";
  };

  SmallVector<train::StateOp> all;
  SmallVector<StringRef> allNames;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getKind() == train::StateKind::Parameter) {
      all.push_back(state);
      allNames.push_back(state.getSymName());
    }
  SmallVector<bool> ruleMatched(rules.size()),
      exceptionMatched(exceptions.size());
  ParameterGroups result;
  SmallVector<unsigned> numbers;
  for (train::StateOp state : all) {
    Group group{1, options.decay};
    for (auto [i, rule] : llvm::enumerate(rules)) {
      if (!matchesUserRegex(rule.pattern, state.getSymName()))
        continue;
      ruleMatched[i] = true;
      group = {rule.rate.value_or(1), rule.decay.value_or(options.decay)};
    }
    for (auto [i, what] : llvm::enumerate(exceptions))
      if (isSelected(module, what, state)) {
        exceptionMatched[i] = true;
        group.decay = 0;
      }
    auto *known = llvm::find(result.groups, group);
    numbers.push_back(known - result.groups.begin());
    if (known == result.groups.end())
      result.groups.push_back(group);
  }
  // A model need not have norms or biases.
  for (auto [i, what] : llvm::enumerate(exceptions))
    if (isKind(what) && !std::exchange(exceptionMatched[i], true))
      addNote(module, "option 'no-decay'=" + what + " matches no parameter");
  auto checkMatched = [&](ArrayRef<bool> matched, StringRef option,
                          auto patternAt) -> LogicalResult {
    for (auto [i, isMatched] : llvm::enumerate(matched))
      if (!isMatched) {
        StringRef pattern = patternAt(i);
        return emitUsageError(module.getLoc())
               << option << "='" << pattern << "' matches no parameter"
               << describeNearest(pattern, allNames);
      }
    return success();
  };
  if (failed(checkMatched(
          ruleMatched, "option 'group'",
          [&](size_t i) -> StringRef { return rules[i].pattern; })) ||
      failed(checkMatched(exceptionMatched, "option 'no-decay'",
                          [&](size_t i) { return exceptions[i]; })))
    return failure();
  for (unsigned group : llvm::seq<unsigned>(result.groups.size()))
    for (auto [state, number] : llvm::zip(all, numbers))
      if (number == group) {
        result.states.push_back(state);
        result.names.push_back(state.getSymName().str());
        result.groupOf.push_back(group);
      }
  return result;
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

bool ParameterGroups::beginsGroup(train::StateOp state) const {
  size_t at = llvm::find(states, state) - states.begin();
  return at == 0 || groupOf[at] != groupOf[at - 1];
}

Value ParameterGroups::buildColumn(OpBuilder &builder, Location loc,
                                   const Packing &packing,
                                   double Group::*field) const {
  if (llvm::all_of(groups, [&](const Group &group) {
        return group.*field == groups.front().*field;
      }))
    return nullptr;
  int64_t rows = packing.type.getDimSize(0);
  SmallVector<Attribute> values(rows);
  for (auto [i, offset] : llvm::enumerate(packing.offsets)) {
    int64_t end = i + 1 < packing.offsets.size() ? packing.offsets[i + 1]
                                                 : rows * kPackRow;
    Attribute value =
        FloatAttr::get(packing.elementType(), groups[groupOf[i]].*field);
    for (int64_t row = offset / kPackRow; row * kPackRow < end; ++row)
      values[row] = value;
  }
  auto type = RankedTensorType::get({rows, 1}, packing.elementType());
  return train::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, values));
}

Value ParameterGroups::buildRates(OpBuilder &builder, Location loc,
                                  const Packing &packing) const {
  if (Value column = buildColumn(builder, loc, packing, &Group::rate))
    return column;
  double common = groups.front().rate;
  return common == 1
             ? Value()
             : createScalar(builder, loc, packing.elementType(), common);
}

Value ParameterGroups::buildDecays(OpBuilder &builder, Location loc,
                                   const Packing &packing) const {
  return buildColumn(builder, loc, packing, &Group::decay);
}

SmallVector<StringRef> ParameterGroups::namesOf(unsigned group) const {
  SmallVector<StringRef> own;
  for (auto [name, of] : llvm::zip(names, groupOf))
    if (of == group)
      own.push_back(name);
  return own;
}

ArrayAttr ParameterGroups::toAttribute(MLIRContext *context) const {
  Builder builder(context);
  SmallVector<Attribute> result;
  for (auto [number, group] : llvm::enumerate(groups)) {
    SmallVector<StringRef> own = namesOf(number);
    result.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("lr_factor", builder.getF64FloatAttr(group.rate)),
         builder.getNamedAttr("weight_decay",
                              builder.getF64FloatAttr(group.decay)),
         builder.getNamedAttr("parameters", builder.getStrArrayAttr(own))}));
  }
  return builder.getArrayAttr(result);
}

SmallVector<std::string> ParameterGroups::describe() const {
  SmallVector<std::string> lines;
  for (auto [number, group] : llvm::enumerate(groups)) {
    SmallVector<StringRef> own = namesOf(number);
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << own.size()
           << (own.size() == 1 ? " parameter with " : " parameters with ");
    if (group.rate != 1)
      stream << llvm::format("%g times the learning rate and ", group.rate);
    stream << llvm::format("weight decay %g", group.decay) << ": '"
           << llvm::join(ArrayRef(own).take_front(4), "', '") << "'";
    if (own.size() > 4)
      stream << " and " << own.size() - 4 << " more";
    lines.push_back(text);
  }
  return lines;
}
