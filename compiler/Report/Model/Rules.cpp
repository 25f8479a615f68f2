//===- Rules.cpp - What decided a precision, by names that stay -----------===//

#include "compiler/Report/Model/Rules.h"

using namespace mpc::report;
using llvm::StringRef;

/// Of two that fit the first counts.
static constexpr Rule kRules[] = {
    {"class", "class", ""},
    {"pin.number", "pin", kSingleNumber},
    {"pin.parameter-gradient", "gradient", ""},
    {"pin.range", "pin", kDoesNotFit},
    {"pin.input", "pin", kUnboundedInput},
    {"pin.place", "pin", kPlace},
    {"pin.of-parameters", "pin", kOfParameters},
    {"pin", "pin", ""},
    {"cut.no-product", "minimum cut", kNoProductNear},
    {"cut.pinned-operand", "minimum cut", kPinnedOperand},
    {"cut.pole", "minimum cut", kNearPole},
    {"cut.reads-f32", "minimum cut", kReadsWide},
    {"cut.moves-more", "minimum cut", kMovesMore},
    {"cut.saves-nothing", "minimum cut", kSavesNothing},
    {"cut.saves-too-little", "minimum cut", kSavesTooLittle},
    {"cut", "minimum cut", ""},
    {"option.keep-fp32", "user option", "keep-fp32="},
    {"option.force-low", "user option", "force-low="},
    {"option.op-precision", "user option", "op-precision="},
    {"option.policy", "user option", "policy="},
    {"option", "user option", ""},
    {"budget", "error budget", ""},
    {"fp8.kept", "fp8", kNotFp8},
    {"fp8", "fp8", ""},
    {"tf32", "tf32", ""},
    {"precision", "precision", ""},
    {"loss-scaling", "loss scaling", ""},
    {"guard", "guard", ""},
};

llvm::ArrayRef<Rule> mpc::report::allRules() { return kRules; }

StringRef mpc::report::ruleId(StringRef rule, StringRef reason) {
  for (const Rule &known : kRules)
    if (known.rule == rule && reason.contains(known.phrase))
      return known.id;
  return rule.empty() ? "" : "other";
}
