//===- ReportPrecision.cpp - Write the precision report -------------------===//
//
// Implements mpc-report-precision: writes the types, casts and decisions in the
// IR as JSON. It makes no decisions.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/OpCost.h"
#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Amp/IR/ClassName.h"
#include "compiler/Report/Model/Reasons.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Report.h"
#include "compiler/Support/UserInput/Json.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/Report/DecisionText.h"
#include "passes/Precision/Report/ReportEdges.h"

#include "llvm/Support/JSON.h"

namespace mpc {
#define GEN_PASS_DEF_REPORTPRECISIONPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using amp::PrecisionClass;

namespace {

/// Totals of a function or of the module.
struct Totals {
  OpCost cost;
  int64_t casts = 0;       ///< Without casts of the optimizer.
  int64_t weightCasts = 0; ///< Casts of weights in forward or backward.

  void add(const Totals &other) {
    cost += other.cost;
    casts += other.casts, weightCasts += other.weightCasts;
  }

  llvm::json::Object toJson() const {
    llvm::json::Object object{{"casts", casts}, {"weight_casts", weightCasts}};
    cost.addTo(object);
    return object;
  }
};

} // namespace

static std::string operandName(Operation *op) {
  if (op->hasAttr(kTf32Attr))
    return "tf32";
  FloatType type = operandType(op);
  return type ? typeName(type) : "";
}

static FloatType resultType(Operation *op) {
  for (Type type : op->getResultTypes())
    if (FloatType element = getFloatElementType(type))
      return element;
  return nullptr;
}

/// The type of sums and intermediate values; empty for ops that compute
/// nothing.
static std::string accumulateType(amp::PrecisionOpInterface op) {
  if (isTransparent(op))
    return "";
  bool f64 = llvm::any_of(op->getOperandTypes(), [](Type type) {
    FloatType element = getFloatElementType(type);
    return element && element.isF64();
  });
  return f64 ? "f64" : "f32";
}

/// True for the cast that writes a working copy, which is part of the
/// optimizer, and for casts that read bf16 master weights.
static bool isOptimizerCast(Operation *cast) {
  if (isF32Tensor(cast->getResult(0).getType()) &&
      getWeightState(cast->getOperand(0)))
    return true;
  return llvm::any_of(cast->getUsers(), writesState);
}

static void addCast(Operation *cast, Totals &totals) {
  if (isOptimizerCast(cast))
    return;
  ++totals.casts;
  totals.weightCasts += getWeightState(cast->getOperand(0)) != nullptr;
}

/// The algebraic form of each result in terms of operands; empty if unknown for
/// all.
static llvm::json::Array errorPropagationOf(Operation *op) {
  llvm::json::Array names;
  auto sum = dyn_cast<train::ErrorPropagationOpInterface>(op);
  for (unsigned i = 0; sum && i < op->getNumResults(); ++i)
    names.push_back(errorPropagationName(sum.getErrorPropagation(i)));
  return names;
}

/// The op's reason for its class in a program with 16-bit type `low`, which may
/// be null, or the proven fact that decides instead.
static std::string ownReason(amp::PrecisionOpInterface op, FloatType low) {
  if (!low)
    return "";
  auto range = op->getAttrOfType<StringAttr>(kProvenRangeAttr);
  if (op->hasAttr(kProvenAttr) && range)
    return report::proofOf(typeName(low), utf8(range.getValue()));
  return op.getPrecisionReason(low).str();
}

static llvm::json::Object describe(amp::PrecisionOpInterface op, FloatType low,
                                   const ReportEdges &edges) {
  auto text = [&](StringRef name) -> std::string {
    auto attr = op->getAttrOfType<StringAttr>(name);
    return attr ? utf8(attr.getValue()) : std::string();
  };
  int64_t castsIn = llvm::count_if(op->getOperands(), [](Value value) {
    return isCast(value.getDefiningOp());
  });
  int64_t castsOut = llvm::count_if(op->getUsers(), [](Operation *user) {
    return isCast(user) && !isOptimizerCast(user);
  });
  PrecisionClass kind = op->hasAttr(kProvenAttr) ? classInFullRange(op)
                                                 : op.getPrecisionClass(low);
  FloatType out = resultType(op);
  llvm::json::Object line{{"op", op->getName().getStringRef()},
                          {"node", utf8(nodeName(op->getLoc()))},
                          {"type", utf8(nodeType(op->getLoc()))},
                          {"class", amp::className(kind)},
                          {"operand_dtype", operandName(op)},
                          {"dtype", out ? typeName(out) : ""},
                          {"accumulate_dtype", accumulateType(op)},
                          {"casts_in", castsIn},
                          {"casts_out", castsOut},
                          {"inputs", edges.inputsOf(op)}};
  if (amp::DecisionAttr decision = amp::getDecision(op)) {
    line["rule"] = report::groupOf(ruleOf(decision.getRule()).value());
    line["rule_id"] = decision.getRule();
    line["reason"] = reasonOf(decision, ownReason(op, low));
  } else {
    line["rule"] = line["rule_id"] = line["reason"] = "";
  }
  if (std::string range = text(kProvenRangeAttr); !range.empty())
    line["range"] = range;
  if (llvm::json::Array terms = errorPropagationOf(op); !terms.empty())
    line["terms"] = std::move(terms);
  costOf(op).addTo(line);
  return line;
}

namespace {

struct ReportPrecisionPass
    : mpc::impl::ReportPrecisionPassBase<ReportPrecisionPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto precision = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    FloatType low =
        precision ? getLowType(&getContext(), precision.getValue()) : nullptr;
    Totals all;
    std::string text;
    llvm::raw_string_ostream stream(text);
    // JSON objects take 4 KB each, so each is written and freed at once.
    // Attributes are written in the order in which llvm::json prints an object.
    llvm::json::OStream json(stream);
    json.object([&] {
      json.attributeArray("functions", [&] {
        for (auto func : module.getOps<func::FuncOp>())
          if (!func.isExternal())
            json.object([&] { all.add(write(func, low, json)); });
      });
      json.attribute("groups", groupsOf(module));
      json.attribute("model", nameOf(module));
      json.attribute("precision",
                     utf8(precision ? precision.getValue() : "fp32"));
      json.attribute("totals", all.toJson());
      json.attribute("version", kReportVersion);
    });
    module->setAttr(kReportAttr, StringAttr::get(&getContext(), text));
  }

  /// Writes the JSON attributes of a function's report.
  static Totals write(func::FuncOp func, FloatType low,
                      llvm::json::OStream &json) {
    Totals totals;
    ReportEdges edges(func,
                      [](Operation *cast) { return !isOptimizerCast(cast); });
    json.attribute("casts", edges.casts());
    json.attribute("name", utf8(func.getSymName()));
    json.attributeArray("ops", [&] {
      for (Operation &op : func.front()) {
        totals.cost += costOf(&op);
        if (isCast(&op))
          addCast(&op, totals);
        if (isReported(&op))
          json.value(describe(cast<amp::PrecisionOpInterface>(op), low, edges));
      }
    });
    json.attribute("totals", totals.toJson());
    return totals;
  }

  /// The parameter groups.
  static llvm::json::Array groupsOf(ModuleOp module) {
    llvm::json::Array groups;
    auto attr = module->getAttrOfType<ArrayAttr>(kParameterGroupsAttr);
    if (!attr)
      return groups;
    for (auto group : attr.getAsRange<DictionaryAttr>()) {
      llvm::json::Array parameters;
      for (auto name :
           group.getAs<ArrayAttr>("parameters").getAsRange<StringAttr>())
        parameters.push_back(utf8(name.getValue()));
      auto number = [&](StringRef name) {
        return group.getAs<FloatAttr>(name).getValueAsDouble();
      };
      groups.push_back(
          llvm::json::Object{{"lr_factor", number("lr_factor")},
                             {"weight_decay", number("weight_decay")},
                             {"parameters", std::move(parameters)}});
    }
    return groups;
  }

  static std::string nameOf(ModuleOp module) {
    auto name = module->getAttrOfType<StringAttr>(kModelAttr);
    return name ? utf8(name.getValue()) : std::string();
  }
};

} // namespace
