//===- GpuSchedule.cpp - GPU schedule of a kernel -------------------------===//

#include "compiler/Analysis/GpuSchedule.h"
#include "compiler/Analysis/RowPhases.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

static constexpr int64_t kWarp = 32;
/// The widest memory access of a thread, in bytes.
static constexpr int64_t kAccessBytes = 16;
/// The maximum lanes of a vector: one access of a 16-bit operand, two accesses
/// of an f32 operand.
static constexpr int64_t kMaxLanes = 8;
/// The side of the smallest tile in elements; the number of vectors along a
/// side of larger tiles, so that 64 bytes or more are contiguous.
static constexpr int64_t kLeastTile = 32, kTileVectors = 4;
/// The default number of threads per block.
static constexpr int64_t kThreads = 256;
static constexpr int64_t kMaxThreads = 1024;
/// Threads that keep a large GPU busy: a thousand on each multiprocessor of an
/// H200. An estimate.
static constexpr int64_t kFullGpu = 132 * 1024;
/// The maximum number of vectors of a row that a thread holds in registers.
static constexpr int64_t kMaxVectors = 4;
/// The registers of a multiprocessor, and the maximum of one thread: more would
/// leave too few threads to hide memory latency.
static constexpr int64_t kRegisters = 65536, kMaxRegisters = 128;

/// The shared memory of a block on the GPUs that have most of it.
static constexpr int64_t kMaxSharedBytes = 227 << 10;

static int64_t bytesOf(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

static int64_t powerOf2(int64_t least) {
  return int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(least, 1)));
}

namespace {

class Scheduler {
public:
  explicit Scheduler(const KernelDomain &domain) : domain(domain) {
    for (const KernelNode &node : domain.nodes)
      for (const KernelAccess &output : node.outputs)
        made.insert(output.root);
    for (const KernelNode &node : domain.nodes) {
      for (const KernelAccess &input : node.inputs)
        if (!made.contains(input.root) &&
            !input.root.getDefiningOp<arith::ConstantOp>())
          accesses.push_back(&input);
      for (const KernelAccess &output : node.outputs)
        if (isUsedOutside(domain, output.root))
          accesses.push_back(&output);
    }
  }

  std::optional<GpuSchedule> run() {
    bool overColumns = llvm::any_of(domain.nodes, [](const KernelNode &node) {
      return node.reduction == KernelReduction::Columns ||
             node.level == KernelLevel::Row;
    });
    GpuSchedule schedule;
    schedule.lanes = lanes();
    vectors = llvm::divideCeil(domain.columns(), schedule.lanes);
    if (!domain.hasRowReduction())
      return overColumns ? rows(schedule) : flat(schedule);
    return overColumns ? outer(schedule) : columns(schedule);
  }

private:
  int64_t columnStride(const KernelAccess &access) const {
    return domain.columnBegin < domain.sizes.size() ? access.strides.back() : 0;
  }

  /// The bytes of the narrowest element that is contiguous along the columns.
  int64_t narrowestElement() const {
    int64_t narrowest = kAccessBytes;
    for (const KernelAccess *access : accesses)
      if (columnStride(*access) == 1)
        narrowest = std::min(narrowest, bytesOf(access->elementType));
    return narrowest;
  }

  /// The number of columns that one thread handles at a time: all accesses to
  /// adjacent columns must be whole and aligned.
  unsigned lanes() const {
    int64_t lanes = std::min(kMaxLanes, kAccessBytes / narrowestElement());
    bool oneRow = domain.columnBegin == 0 && !domain.hasColumnReduction();
    auto isWhole = [&](int64_t count) { return count % lanes == 0; };
    auto allWhole = [&] {
      // The end of a single row is masked, if nothing is summed over it.
      if (!oneRow && !isWhole(domain.columns()))
        return false;
      return llvm::all_of(accesses, [&](const KernelAccess *access) {
        if (columnStride(*access) != 1)
          return true;
        return isWhole(access->offset) &&
               llvm::all_of(ArrayRef<int64_t>(access->strides).drop_back(),
                            isWhole);
      });
    };
    while (lanes > 1 && (!allWhole() || lanes / 2 >= domain.columns()))
      lanes /= 2;
    return lanes;
  }

  std::optional<GpuSchedule> flat(GpuSchedule schedule) {
    int64_t rows = domain.outer() * domain.rows();
    int64_t total = rows * vectors;
    schedule.walk = GpuSchedule::Walk::Flat;
    schedule.groupThreads = std::clamp(powerOf2(total), kWarp, kThreads);
    schedule.blocks = llvm::divideCeil(total, schedule.groupThreads);
    findTile(schedule);
    return inGrid(schedule);
  }

  /// Finds an operand that is contiguous along another dimension than the
  /// columns: without tiles a warp would touch as many cache lines as it has
  /// threads.
  void findTile(GpuSchedule &schedule) {
    for (const KernelAccess *access : accesses) {
      int64_t stride = columnStride(*access);
      if (stride == 0 || stride == 1 || made.contains(access->root))
        continue;
      for (unsigned d = 0; d + 1 < domain.sizes.size(); ++d) {
        if (access->strides[d] != 1 || domain.sizes[d] < 8 ||
            domain.columns() < 8)
          continue;
        makeTiles(schedule, d);
        return;
      }
    }
  }

  void makeTiles(GpuSchedule &schedule, unsigned dim) const {
    const int64_t lanes = tileLanes(dim);
    const int64_t side = std::max(kLeastTile, kTileVectors * lanes);
    schedule.walk = GpuSchedule::Walk::Tiles;
    schedule.tileDim = dim;
    schedule.tileSide = side;
    schedule.lanes = lanes;
    schedule.groupThreads = side / lanes;
    schedule.groups = std::min(kThreads / schedule.groupThreads, side);
    schedule.blocks = domain.outer() * domain.rows() / domain.sizes[dim] *
                      llvm::divideCeil(domain.sizes[dim], side) *
                      llvm::divideCeil(domain.columns(), side);
  }

  /// The elements of a vector of a tile: 16 bytes of the narrowest type. All
  /// operands that are contiguous along `dim` or along the columns must consist
  /// of whole vectors.
  int64_t tileLanes(unsigned dim) const {
    int64_t lanes = kAccessBytes;
    auto wholes = [&](int64_t count) {
      while (lanes > 1 && count % lanes != 0)
        lanes /= 2;
    };
    wholes(domain.columns());
    wholes(domain.sizes[dim]);
    int64_t narrowest = kAccessBytes;
    for (const KernelAccess *access : accesses) {
      if (columnStride(*access) == 0)
        continue;
      // An operand that is contiguous along neither is accessed one element at
      // a time.
      if (access->strides[dim] != 1 && columnStride(*access) != 1)
        return 1;
      narrowest = std::min(narrowest, bytesOf(access->elementType));
      wholes(access->offset);
      for (int64_t stride : access->strides)
        if (stride != 1)
          wholes(stride);
    }
    return std::min(lanes, kAccessBytes / narrowest);
  }

  std::optional<GpuSchedule> rows(GpuSchedule schedule) {
    int64_t rows = domain.outer() * domain.rows();
    schedule.walk = GpuSchedule::Walk::Rows;
    // With few long rows, more threads share a row.
    int64_t least = std::min(powerOf2(vectors), powerOf2(kFullGpu / rows) / 2);
    shareRow(schedule, std::min(least, kMaxThreads), heldPerColumn());
    takeGroups(schedule, rows, kThreads / 2);
    schedule.blocks = llvm::divideCeil(rows, schedule.groups);
    if (schedule.vectors == 0)
      cacheRow(schedule);
    return inGrid(schedule);
  }

  /// Caches as much of a long row as fits in shared memory.
  void cacheRow(GpuSchedule &schedule) const {
    for (const KernelAccess *input : findRereadInputs(domain))
      schedule.cachedBytes += schedule.lanes * bytesOf(input->elementType);
    if (schedule.cachedBytes == 0)
      return;
    const int64_t all = llvm::divideCeil(vectors, schedule.groupThreads);
    const int64_t fit =
        kMaxSharedBytes / (schedule.groupThreads * schedule.cachedBytes);
    schedule.cachedVectors = std::min(all, fit);
  }

  /// The number of values of one column that stay in registers between phases.
  int64_t heldPerColumn() const {
    llvm::SmallDenseSet<Value> inputs;
    for (const KernelAccess *access : accesses)
      if (columnStride(*access) != 0 && !made.contains(access->root))
        inputs.insert(access->root);
    return std::max<int64_t>(inputs.size(), 1);
  }

  int64_t columnSums() const {
    return llvm::count_if(domain.nodes, [](const KernelNode &node) {
      return node.level == KernelLevel::Full &&
             node.reduction == KernelReduction::Rows;
    });
  }

  /// The registers of a thread that keeps `values` values, including
  /// temporaries and addresses. An estimate: with it ptxas spills no registers
  /// in the kernels of the example models, for sm_80 and sm_90.
  static int64_t registersFor(int64_t values) { return values * 5 / 3 + 18; }

  /// Finds the smallest group of at least `least` threads that holds a row in
  /// registers, with `held` values per column; up to a warp it needs no
  /// barriers. A row that is too long is not held; the group then has the
  /// maximum number of threads.
  void shareRow(GpuSchedule &schedule, int64_t least, int64_t held) const {
    int64_t threads = std::max(least, std::min(powerOf2(vectors), kWarp));
    for (;; threads *= 2) {
      int64_t each = llvm::divideCeil(vectors, threads);
      bool fits = each <= kMaxVectors &&
                  registersFor(each * schedule.lanes * held) <=
                      std::min(kMaxRegisters, kRegisters / threads);
      schedule.groupThreads = threads;
      schedule.vectors = fits ? each : 0;
      if (fits || threads == kMaxThreads)
        return;
    }
  }

  /// Puts several groups into a block if they need no barriers: whole warps.
  static void takeGroups(GpuSchedule &schedule, int64_t rows,
                         int64_t blockThreads) {
    int64_t threads = schedule.groupThreads;
    schedule.groups =
        threads > kWarp
            ? 1
            : std::max(kWarp / threads,
                       std::min(blockThreads / threads, powerOf2(rows)));
  }

  std::optional<GpuSchedule> columns(GpuSchedule schedule) {
    schedule.walk = GpuSchedule::Walk::Columns;
    schedule.groupThreads = std::min(powerOf2(vectors), kWarp);
    schedule.strips = llvm::divideCeil(vectors, schedule.groupThreads);
    // If there are few blocks, more groups share the rows, as far as registers
    // permit.
    int64_t most = kThreads;
    if (domain.outer() * schedule.strips * kThreads < kFullGpu)
      while (most < kMaxThreads &&
             registersFor(schedule.lanes * (heldPerColumn() + columnSums())) <=
                 kRegisters / (most * 2))
        most *= 2;
    narrowStrips(schedule, most);
    schedule.blocks = domain.outer() * schedule.strips;
    takeGroups(schedule, domain.rows(), most);
    return inGrid(schedule);
  }

  /// Narrows the strips of a sum that has less than a block for each
  /// multiprocessor: a thread waits for the memory of each of its rows, and
  /// with narrow strips it has fewer.
  void narrowStrips(GpuSchedule &schedule, int64_t blockThreads) const {
    const int64_t bytes = schedule.lanes * narrowestElement();
    auto isBusy = [&] {
      return domain.outer() * schedule.strips * kMaxThreads >= kFullGpu;
    };
    while (!isBusy() && schedule.groupThreads * bytes > kAccessBytes &&
           domain.rows() * schedule.groupThreads > blockThreads) {
      schedule.groupThreads /= 2;
      schedule.strips = llvm::divideCeil(vectors, schedule.groupThreads);
    }
  }

  std::optional<GpuSchedule> outer(GpuSchedule schedule) {
    schedule.walk = GpuSchedule::Walk::Outer;
    shareRow(schedule, 1, heldPerColumn() + columnSums());
    if (schedule.vectors == 0)
      return std::nullopt;
    takeGroups(schedule, domain.rows(), kThreads);
    schedule.blocks = domain.outer();
    return inGrid(schedule);
  }

  static std::optional<GpuSchedule> inGrid(const GpuSchedule &schedule) {
    if (schedule.blocks > INT32_MAX)
      return std::nullopt;
    return schedule;
  }

  const KernelDomain &domain;
  SmallVector<const KernelAccess *> accesses;
  llvm::SmallDenseSet<Value> made; ///< Computed by the kernel.
  int64_t vectors = 0;             ///< Vectors in one row.
};

} // namespace

std::optional<GpuSchedule> mpc::scheduleGpuKernel(const KernelDomain &domain) {
  return Scheduler(domain).run();
}
