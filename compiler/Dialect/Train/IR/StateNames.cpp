//===- StateNames.cpp - Names that mpc gives itself -----------------------===//

#include "compiler/Dialect/Train/IR/StateNames.h"

#include "llvm/ADT/StringSet.h"

bool mpc::train::isReservedName(llvm::StringRef name) {
  static const llvm::StringSet<> names = {
      // Functions.
      "predict", "evaluate", "train", "step", "accumulate", "apply", "derive",
      "initialize", "observe", "probe",
      // Counters and numbers.
      "step_count", "random_seed", "learning_rate", "total_steps", "micro_step",
      "ema_count", "loss_sum", "loss_divisor", "loss_scale",
      "loss_scale_streak", "nadam.momentum_product", "fault_place",
      "fault_value",
      // Packs of no weights.
      "parameters", "fp8.scales", "fp8.amax", "fp8.amax_history", "fp8.weights",
      "fp8.weight_scales", "fp8.turned_weights",
      // The header of safetensors files has this key.
      "__metadata__"};
  // Packs with a part for each weight, stored as "adam.first_moment/<weight>".
  static const llvm::StringSet<> packs = {"parameters.bf16",
                                          "parameters.f16",
                                          "gradients",
                                          "compensation",
                                          "ema",
                                          "adam.first_moment",
                                          "adam.second_moment",
                                          "momentum.velocity",
                                          "lion.moment",
                                          "adagrad.sum",
                                          "rmsprop.square",
                                          "rmsprop.velocity",
                                          "pending"};
  if (names.contains(name) || packs.contains(name))
    return true;
  // The rest of states that are no pack, where weights are kept in bf16.
  if (name.starts_with("compensation."))
    return true;
  auto [pack, weight] = name.split('/');
  return !weight.empty() && packs.contains(pack);
}
