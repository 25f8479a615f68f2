//===- Rules.cpp - Ids of rules in reports of earlier versions ------------===//

#include "compiler/Report/Model/Rules.h"

using namespace mpc::report;
using llvm::StringRef;

/// The first matching row applies.
static constexpr OldRule kRules[] = {
    {"class", "class", ""},
    {"pin.number", "pin", "a single number is never rounded"},
    {"pin.parameter-gradient", "gradient", ""},
    {"pin.range", "pin", " do not fit "},
    {"pin.input", "pin", "inputs stay f32 up to a product or a norm"},
    {"pin.place", "pin", "numbers that say where something is read stay f32"},
    {"pin.of-parameters", "pin", "what is computed from parameters alone"},
    {"pin", "pin", ""},
    {"cut.no-product", "minimum cut",
     "no product near that reads or writes 16 bit"},
    {"cut.pinned-operand", "minimum cut",
     "an operand that is f32 in every precision"},
    {"cut.pole", "minimum cut", "small numbers would become 0"},
    {"cut.reads-f32", "minimum cut", "what it reads is f32"},
    {"cut.moves-more", "minimum cut", " bytes more"},
    {"cut.saves-nothing", "minimum cut", " would save no bytes"},
    {"cut.saves-too-little", "minimum cut", " bytes, too few"},
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

llvm::ArrayRef<OldRule> mpc::report::oldRules() { return kRules; }

StringRef mpc::report::oldRuleId(StringRef rule, StringRef reason) {
  for (const OldRule &known : kRules)
    if (known.rule == rule && reason.contains(known.phrase))
      return known.id;
  return rule.empty() ? "" : "other";
}
