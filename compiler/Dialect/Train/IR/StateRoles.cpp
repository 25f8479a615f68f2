//===- StateRoles.cpp - Kinds and names of states -------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"

#include "llvm/Support/ErrorHandling.h"

using namespace mpc::train;

namespace {
struct RoleRow {
  StateRole role;
  StateKind kind;
  llvm::StringLiteral name; ///< "" if states of the role have individual names.
  bool isUnique = false;
};
} // namespace

static constexpr RoleRow kRows[] = {
    {StateRole::Parameter, StateKind::Parameter, "parameters"},
    {StateRole::Statistic, StateKind::Statistic, ""},
    {StateRole::Constant, StateKind::Constant, ""},
    {StateRole::Optimizer, StateKind::Optimizer, ""},
    {StateRole::FirstMoment, StateKind::Optimizer, "adam.first_moment"},
    {StateRole::SecondMoment, StateKind::Optimizer, "adam.second_moment"},
    {StateRole::GradientSum, StateKind::Optimizer, "gradients", true},
    {StateRole::Average, StateKind::Optimizer, "ema", true},
    {StateRole::Compensation, StateKind::Optimizer, "compensation"},
    {StateRole::Pending, StateKind::Optimizer, ""},
    {StateRole::PendingControl, StateKind::Control, ""},
    {StateRole::Fp8Scales, StateKind::Optimizer, "fp8.scales", true},
    {StateRole::Fp8History, StateKind::Optimizer, "fp8.amax_history", true},
    {StateRole::Fp8Amax, StateKind::Optimizer, "fp8.amax", true},
    {StateRole::WorkingCopy, StateKind::WorkingCopy, ""},
    {StateRole::Derived, StateKind::Derived, ""},
    {StateRole::Control, StateKind::Control, ""},
    {StateRole::StepCount, StateKind::Control, "step_count", true},
    {StateRole::MicroStep, StateKind::Control, "micro_step", true},
    {StateRole::AverageCount, StateKind::Control, "ema_count", true},
    {StateRole::TotalSteps, StateKind::Control, "total_steps", true},
    {StateRole::LearningRate, StateKind::Control, "learning_rate", true},
    {StateRole::RandomSeed, StateKind::Control, "random_seed", true},
    {StateRole::LossSum, StateKind::Control, "loss_sum", true},
    {StateRole::LossDivisor, StateKind::Control, "loss_divisor", true},
    {StateRole::LossScale, StateKind::Control, "loss_scale", true},
    {StateRole::LossScaleStreak, StateKind::Control, "loss_scale_streak", true},
    {StateRole::OptimizerNumber, StateKind::Control, ""},
    {StateRole::FaultPlace, StateKind::Control, "fault_place", true},
    {StateRole::FaultValue, StateKind::Constant, "fault_value", true},
    {StateRole::Residual, StateKind::Derived, ""},
    {StateRole::RankSeed, StateKind::Derived, "rank_seed", true},
    {StateRole::RankGradients, StateKind::Derived, "rank_gradients", true},
};
static_assert(std::size(kRows) == getMaxEnumValForStateRole(),
              "a row for each role");

static const RoleRow &rowOf(StateRole role) {
  for (const RoleRow &row : kRows)
    if (row.role == role)
      return row;
  llvm_unreachable("a role without a row");
}

StateKind mpc::train::kindOf(StateRole role) { return rowOf(role).kind; }

llvm::StringRef mpc::train::usualName(StateRole role) {
  return rowOf(role).name;
}

bool mpc::train::isUnique(StateRole role) { return rowOf(role).isUnique; }
