//===- Change.cpp - The cost of another format of an op -------------------===//

#include "compiler/Report/Compare/Change.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mpc::report;
using llvm::StringRef;

static bool isLow(StringRef type) { return type.ends_with("16"); }

/// Sizes come from a file: clamps them, so that sums do not overflow.
static int64_t bytesOf(uint64_t bytes) {
  return static_cast<int64_t>(std::min<uint64_t>(bytes, uint64_t(1) << 50));
}

/// The change in size of a tensor of `bytes` bytes in the other format.
static int64_t difference(int64_t bytes, bool isLow) {
  return isLow ? bytes : -bytes / 2;
}

namespace {

class Estimate {
public:
  Estimate(const Function &function, size_t line)
      : function(function), line(static_cast<int64_t>(line)),
        op(function.ops[line]), toLow(op.isWide()) {}

  Change run() {
    int64_t resultBytes = bytesOf(op.cost.bytes);
    for (const Operand &operand : op.operands) {
      resultBytes -= bytesOf(operand.bytes);
      if (isLow(operand.dtype) != toLow && !operand.isPinned)
        addOperand(operand);
    }
    if (isLow(op.resultType) != toLow && !op.resultType.empty())
      addResult(std::max<int64_t>(0, resultBytes));
    return change;
  }

private:
  /// Adds a cast of a tensor that takes `from` bytes and is read in a format
  /// that is, or is not, 16 bit.
  void addCast(int64_t from, bool fromLow) {
    ++change.casts;
    change.bytes += 2 * from + difference(from, fromLow);
  }

  void dropCast(int64_t cast) {
    --change.casts;
    change.bytes -= bytesOf(function.casts[cast].bytes);
  }

  int64_t countReaders(int64_t cast) const {
    int64_t readers = 0;
    for (const Op &reader : function.ops)
      readers += llvm::count_if(reader.operands, [&](const Operand &operand) {
        return operand.cast == cast;
      });
    return readers;
  }

  void addOperand(const Operand &operand) {
    int64_t bytes = bytesOf(operand.bytes);
    change.bytes += difference(bytes, !toLow);
    if (operand.cast >= 0) {
      if (countReaders(operand.cast) == 1)
        dropCast(operand.cast);
    } else if (operand.origin.state.empty()) {
      addCast(bytes, !toLow);
    }
  }

  /// All ops that read the result directly need a cast, one for all of them;
  /// existing casts of the result are no longer needed.
  void addResult(int64_t bytes) {
    change.bytes += difference(bytes, !toLow);
    bool isRead = false;
    for (const Op &reader : function.ops)
      for (const Operand &operand : reader.operands)
        isRead |= operand.origin.op == line && operand.cast < 0;
    if (isRead)
      addCast(bytes + difference(bytes, !toLow), toLow);
    for (auto [i, cast] : llvm::enumerate(function.casts))
      if (cast.origin.op == line)
        dropCast(static_cast<int64_t>(i));
  }

  const Function &function;
  int64_t line;
  const Op &op;
  bool toLow;
  Change change;
};

} // namespace

Change mpc::report::estimateChange(const Function &function, size_t line) {
  return Estimate(function, line).run();
}
