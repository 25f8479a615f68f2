//===- MemoryProof.h - Proof that reads find the right tensors --*- C++ -*-===//
//
// Walks through the instructions of an entry point with a map of both memories:
// which bytes hold which tensor. An operand that is read must be completely in
// its buffer, so no two tensors that are still needed ever share a byte. The
// proof does not use the code that planned the memory.
//
// Intended sharing is verified, too: views and parts of a packed tensor are the
// same bytes of one tensor according to the dataflow, and a result may
// overwrite an operand only if its kernel allows that.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_PLAN_MEMORYPROOF_H
#define MPC_PASSES_PLAN_MEMORYPROOF_H

#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

namespace mpc {

class MemoryProof {
public:
  using Fail = llvm::function_ref<void(mlir::Location, const llvm::Twine &)>;

  /// `symbols` has the states and kernels of the program. Faults go to `fail`.
  MemoryProof(exec::EntryOp entry, const mlir::SymbolTable &symbols,
              llvm::ArrayRef<train::StateOp> states, Fail fail);

  void run();

private:
  /// A tensor in memory; `base` is where its first byte would be.
  struct TensorInMemory {
    int64_t number = 0, base = 0;
    bool operator==(const TensorInMemory &other) const {
      return number == other.number && base == other.base;
    }
  };
  /// Bytes up to `end` and the op that wrote them; null if they were there
  /// before the call.
  struct WrittenRange {
    int64_t end;
    TensorInMemory tensor;
    mlir::Operation *writer;
  };
  using Memory = std::map<int64_t, WrittenRange>; ///< By first byte.
  struct Bytes {
    exec::Space space;
    int64_t begin, end;
  };
  /// One operand of an instruction.
  struct Operand {
    Bytes bytes;
    TensorInMemory tensor;
  };

  static Bytes bytesOf(exec::BufferAttr buffer);
  /// The tensor in `buffer`, given that it holds `value`.
  static TensorInMemory tensorIn(exec::BufferAttr buffer,
                                 exec::ValueAttr value);

  void begin();
  void step(mlir::Operation *op);
  void end();
  void checkSharing(mlir::Operation *op, llvm::ArrayRef<Operand> operands,
                    unsigned inputs);
  bool mayShare(mlir::Operation *op, unsigned input, unsigned output) const;
  std::optional<unsigned> countInputs(mlir::Operation *op) const;

  void place(const Bytes &bytes, TensorInMemory tensor,
             mlir::Operation *writer);
  void expect(mlir::Location loc, const llvm::Twine &what, const Bytes &bytes,
              TensorInMemory tensor);
  /// The first byte that does not hold what it should, if there is one.
  std::optional<int64_t> findFault(const Bytes &bytes,
                                   TensorInMemory tensor) const;
  const exec::PartAttr *partAt(const TensorInMemory &tensor,
                               int64_t byte) const;
  Memory &memory(exec::Space space) {
    return memories[static_cast<unsigned>(space)];
  }
  const Memory &memory(exec::Space space) const {
    return memories[static_cast<unsigned>(space)];
  }

  exec::EntryOp entry;
  const mlir::SymbolTable &symbols;
  llvm::ArrayRef<train::StateOp> states;
  Fail fail;
  Memory memories[2];
  /// By number of the whole tensor, in order of their offsets.
  llvm::DenseMap<int64_t, llvm::SmallVector<exec::PartAttr>> parts;
  llvm::DenseMap<mlir::Operation *, TensorInMemory>
      unchanged; ///< Initial states.
};

} // namespace mpc

#endif // MPC_PASSES_PLAN_MEMORYPROOF_H
