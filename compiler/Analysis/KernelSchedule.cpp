//===- KernelSchedule.cpp - CPU schedule of a kernel ----------------------===//

#include "compiler/Analysis/KernelSchedule.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

/// With less work than this (see elementCost), a second thread does not pay
/// off: starting one takes a microsecond or two.
static constexpr int64_t kWorthAThread = 100'000;

/// Elements of one item of a flat walk: 16 KiB of f32, small enough to
/// distribute evenly, large enough to hide the call.
static constexpr int64_t kFlatItem = 4096;

/// Vector registers that column sums may use.
static constexpr int64_t kSumRegisters = 16;

/// Upper bound of costs, more than any useful element costs.
static constexpr int64_t kMaxCost = int64_t(1) << 30;

/// The work of a body or of a region in it.
static int64_t costOf(Block &block) {
  int64_t cost = 0;
  for (Operation &inner : block.without_terminator()) {
    cost += isa<math::MathDialect>(inner.getDialect()) ? 12 : 1;
    int64_t turns = 1;
    if (auto loop = dyn_cast<scf::ForOp>(inner))
      if (std::optional<APInt> count = loop.getStaticTripCount())
        turns = count->getSExtValue();
    for (Region &region : inner.getRegions())
      for (Block &nested : region)
        cost += std::min(turns, kMaxCost) * costOf(nested);
  }
  return std::min(cost, kMaxCost);
}

int64_t mpc::elementCost(const KernelDomain &domain) {
  int64_t cost = 0;
  for (const KernelNode &node : domain.nodes) {
    if (node.level != KernelLevel::Full)
      continue;
    linalg::GenericOp op = node.op;
    cost += op.getNumOperands();
    cost += costOf(*op.getBody());
  }
  return std::max<int64_t>(cost, 1);
}

KernelSchedule mpc::scheduleKernel(const KernelDomain &domain,
                                   unsigned maxLanes) {
  using Walk = KernelSchedule::Walk;
  int64_t columns = domain.columns();
  KernelSchedule schedule{};
  schedule.lanes = maxLanes;
  while (schedule.lanes > 1 && int64_t(schedule.lanes / 2) >= columns)
    schedule.lanes /= 2;
  schedule.itemElements = columns;

  int64_t perItem = columns;
  if (domain.hasRowReduction()) {
    bool rowByRow = llvm::any_of(domain.nodes, [](const KernelNode &node) {
      return node.reduction == KernelReduction::Columns ||
             node.level == KernelLevel::Row;
    });
    if (rowByRow) {
      schedule.walk = Walk::Outer;
      schedule.items = domain.outer();
      perItem = domain.rows() * columns;
    } else {
      int64_t sums = llvm::count_if(domain.nodes, [](const KernelNode &node) {
        return node.reduction == KernelReduction::Rows;
      });
      int64_t vectors = llvm::divideCeil(columns, schedule.lanes);
      schedule.walk = Walk::Columns;
      schedule.stripVectors = std::min(
          vectors,
          std::max<int64_t>(1, kSumRegisters / std::max<int64_t>(sums, 1)));
      schedule.items =
          domain.outer() * llvm::divideCeil(vectors, schedule.stripVectors);
      perItem = domain.rows() * schedule.stripVectors * schedule.lanes;
    }
  } else if (domain.columnBegin == 0 && !domain.hasColumnReduction()) {
    schedule.walk = Walk::Flat;
    schedule.itemElements = std::min(columns, kFlatItem);
    schedule.items = llvm::divideCeil(columns, schedule.itemElements);
    perItem = schedule.itemElements;
  } else {
    schedule.walk = Walk::Rows;
    schedule.items = domain.outer() * domain.rows();
  }
  int64_t work = std::max<int64_t>(perItem * elementCost(domain), 1);
  schedule.grain = std::max<int64_t>(1, kWorthAThread / work);
  return schedule;
}
