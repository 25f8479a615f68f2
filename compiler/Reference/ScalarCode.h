//===- ScalarCode.h - The compiled body of a linalg op ----------*- C++ -*-===//
#ifndef MPC_COMPILER_REFERENCE_SCALARCODE_H
#define MPC_COMPILER_REFERENCE_SCALARCODE_H

#include "compiler/Reference/HostTensor.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace mpc::reference {

/// A block of scalar ops, in which values are numbered slots. Bodies without
/// loops and branches run on many points at once.
class ScalarCode {
public:
  /// The number of points that run at once.
  static constexpr unsigned kMaxLanes = 256;

  /// Translates the body of `op`; fails for an unsupported op.
  static llvm::Expected<ScalarCode> compile(mlir::linalg::GenericOp op);

  /// The tensors that bodies read at computed places (`tensor.extract`).
  using Lookup = llvm::function_ref<const HostTensor &(mlir::Value)>;

  /// The points of a run: for dimension d and lane i, `dims[d][i]`.
  struct Points {
    unsigned count = 0;
    std::vector<std::vector<int64_t>> dims;
  };

  unsigned lanes() const { return hasRegions ? 1 : kMaxLanes; }
  /// Memory for one run.
  std::vector<Element> makeSlots() const;
  /// The lanes of block argument `number`, to be filled before a run.
  Element *argument(std::vector<Element> &slots, unsigned number) const {
    return slots.data() + size_t(arguments[number]) * lanes();
  }
  /// Result `number` of the last run.
  const Element *yielded(const std::vector<Element> &slots,
                         unsigned number) const {
    return slots.data() + size_t(yields[number]) * lanes();
  }
  /// Returns an error if a place lies outside its tensor.
  llvm::Error run(const Points &points, Lookup tensors,
                  std::vector<Element> &slots) const;

  /// If the only use of a reduction's accumulator is to be combined with a
  /// value at the end of the body: the slot of that value.
  std::optional<unsigned> addedSlot;
  /// Combines `total` with `value`.
  void accumulate(Element &total, Element value) const;
  const Element *added(const std::vector<Element> &slots) const {
    return slots.data() + size_t(*addedSlot) * lanes();
  }

private:
  using Real = double (*)(const double *);
  using Whole = uint64_t (*)(const uint64_t *);
  struct Block;
  struct Instruction {
    enum Kind {
      Arithmetic, ///< `real`, on floats.
      Integer,    ///< `whole`, on integers, masked to the type's width.
      Compare,
      Select,
      Round,    ///< To a float type.
      ToFloat,  ///< From a signed integer.
      ToFloatU, ///< From an unsigned one.
      ToInteger,
      Index,
      Extract,
      If,
      For,
    } kind;
    mlir::Operation *op;
    llvm::SmallVector<unsigned, 3> operands, results;
    Real real = nullptr;
    Whole whole = nullptr;
    uint64_t operandMask = ~uint64_t(0);
    bool negates = false; ///< The operand is a boolean that means 0 or -1.
    std::shared_ptr<Block> first, second; ///< The bodies of If and For.
  };
  struct Block {
    llvm::SmallVector<unsigned> arguments, yields;
    std::vector<Instruction> instructions;
  };

  class Compiler;
  llvm::Error run(const Block &block, const Points &points, Lookup tensors,
                  std::vector<Element> &slots) const;
  llvm::Error step(const Instruction &instruction, const Points &points,
                   Lookup tensors, std::vector<Element> &slots) const;

  Block body;
  llvm::SmallVector<unsigned> arguments, yields;
  std::vector<std::pair<unsigned, Element>> constants;
  unsigned numSlots = 0;
  bool hasRegions = false;
  std::optional<Instruction> combiner;
  bool accumulatorFirst = true;
};

} // namespace mpc::reference

#endif // MPC_COMPILER_REFERENCE_SCALARCODE_H
