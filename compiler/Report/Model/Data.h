//===- Data.h - A report as it was read -------------------------*- C++ -*-===//
//
// docs/format/report.md says what the fields mean. Reports are files that
// anybody wrote: reading one may fail and never crashes, and what is read holds
// no control characters that could rewrite a terminal.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_DATA_H
#define MPC_COMPILER_REPORT_MODEL_DATA_H

#include "compiler/Support/Locations.h"
#include "compiler/Support/Terms.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpc::report {

enum class Phase { Forward, Backward, Update };
inline constexpr Phase kPhases[] = {Phase::Forward, Phase::Backward,
                                    Phase::Update};
llvm::StringRef nameOf(Phase phase);
/// By the name of a node, as a report has it.
Phase phaseOf(llvm::StringRef node);

/// What ops compute and move; sums of it are taken over anything. A report that
/// lies must not overflow, so they are unsigned.
struct Cost {
  uint64_t ops = 0;
  uint64_t flops = 0, lowFlops = 0; ///< In all, and in 16 bit or less.
  uint64_t fp8Flops = 0, tf32Flops = 0;
  uint64_t bytes = 0, lowBytes = 0;
  uint64_t casts = 0, castBytes = 0;

  uint64_t wideFlops() const { return flops - std::min(flops, lowFlops); }
  uint64_t wideBytes() const { return bytes - std::min(bytes, lowBytes); }
  Cost &operator+=(const Cost &other);
  Cost &operator-=(const Cost &other);
};

/// Where something has a value from: at most one of these.
struct Origin {
  int64_t op = -1;      ///< A line of the same function.
  std::string state;    ///< A tensor of the model.
  bool isInput = false; ///< An input of the entry point.
};

struct Operand {
  Origin origin;
  std::string dtype;  ///< As it is read.
  uint64_t bytes = 0; ///< That are read.
  int64_t cast = -1;  ///< Between origin and op.
  bool isPinned = false;
};

struct Cast {
  Origin origin;
  std::string from, to;
  uint64_t bytes = 0; ///< Read and written.
  bool isWeight = false;
};

struct Op {
  std::string op, node, type, precisionClass;
  std::string operandType, resultType, sumType;
  uint64_t castsIn = 0, castsOut = 0;
  std::string rule, reason;
  std::string range; ///< What is proven of its result; "" for nothing.
  /// Id from compiler/Support/Precision/Rules.def or a later version of it.
  std::string ruleId;
  std::string module; ///< "transformer.h.0.attn", "" at the top.
  Phase phase = Phase::Forward;
  Cost cost; ///< Without casts.
  std::vector<Operand> operands;
  std::vector<Terms> terms; ///< One per result; empty if nothing is known.

  /// How result number `result` is made of operands.
  Terms termsOf(size_t result) const {
    return result < terms.size() ? terms[result] : Terms::Other;
  }
  /// The node of the model that the op or the gradient is of.
  llvm::StringRef forwardNode() const;
  /// "bf16 -> f32"; one name if both are the same.
  std::string format() const;
  /// Whether nothing that it reads or writes is narrower than f32.
  bool isWide() const;
};

struct Function {
  std::string name;
  std::vector<Op> ops;
  std::vector<Cast> casts;
  Cost totals; ///< Also of what has no line.
  uint64_t weightCasts = 0;

  /// The entry point that runs once for each batch of training.
  bool isTraining() const { return name == "step" || name == "accumulate"; }
  /// The line that a cast is counted with, -1 if there is none: that which made
  /// the value, else the first that reads it.
  int64_t lineOf(size_t cast) const;
};

/// Nanoseconds, by the format that something is computed in, read or written
/// as.
struct Time {
  double wide = 0, low = 0, fp8 = 0;

  double sum() const { return wide + low + fp8; }
};

/// What a machine does in a nanosecond; see compiler/Support/Machine.h.
struct Rates {
  std::string machine;
  double bytes = 0;
  double wide = 0, tf32 = 0, low = 0, fp8 = 0; ///< Operations.

  bool multipliesFp8() const { return fp8 > low; }
  bool multipliesLow() const { return low > wide; }
};

struct Device {
  struct Entry {
    std::string name;
    uint64_t launches = 0, calls = 0;
    uint64_t bytes = 0, lowBytes = 0; ///< Float bytes, in all and in 16 bit or
    uint64_t fp8Bytes = 0;            ///< less: read and written by kernels.
    std::optional<Time> time;         ///< An estimate for the machine.
    uint64_t liveStride = 1;          ///< Instructions between the numbers of
    std::vector<uint64_t> liveBytes;  ///< what is in use of the arena.
  };
  std::string name;
  std::optional<Rates> rates;
  std::vector<Entry> entries;
  uint64_t arena = 0, unsharedArena = 0, states = 0; ///< Bytes.
};

/// What runs again in a function so that less is kept for its backward pass.
struct Recomputation {
  /// Bytes that are kept, over the ops of the function.
  struct Course {
    uint64_t ops = 0, stride = 1;
    std::vector<uint64_t> bytes;

    uint64_t peak() const;
  };
  std::string function;
  uint64_t forwardOps = 0; ///< Come first, and are the same in both.
  Cost cost;               ///< Cost of the recomputed ops.
  Course before, after;
};

/// Parameters that are updated alike.
struct ParameterGroup {
  double rate = 1, decay = 0; ///< The rate as a factor.
  std::vector<std::string> parameters;
};

struct Report {
  std::string model, precision;
  std::vector<Function> functions;
  Cost totals;
  uint64_t weightCasts = 0;
  std::vector<Device> devices;
  std::vector<std::string> otherDevices; ///< That have another report.
  std::vector<ParameterGroup> groups;    ///< None: all are.
  std::vector<Recomputation> recomputed;
  llvm::json::Value json = nullptr; ///< All of it, as it came.

  /// "bf16", and of which devices where others have another report.
  std::string title() const;
  const Function *find(llvm::StringRef name) const;
  const Recomputation *findRecomputation(llvm::StringRef function) const;
  /// The function that a summary is about: what is trained with, else the
  /// first.
  const Function *principal() const;
  /// "bf16" or "f16", "16 bit" where there is none; what is not in it is in the
  /// other.
  llvm::StringRef lowName() const;
  llvm::StringRef wideName() const;
  /// The same where FP8 is told apart.
  llvm::StringRef lowNameWithoutFp8() const;
};

llvm::Expected<Report> read(llvm::StringRef json);
llvm::Expected<Report> readJson(llvm::json::Value json);

/// The same of a report without its functions, which were read before.
llvm::Expected<Report> readJson(llvm::json::Value json,
                                std::vector<Function> functions);

/// Reads a function op by op, so that not all of its JSON has to be there at
/// once. `head` is the function without its ops; `count` is how many it has.
class FunctionReader {
public:
  FunctionReader(const llvm::json::Object &head, size_t count);
  void add(const llvm::json::Object &op);
  Function take() { return std::move(function); }

private:
  Function function;
  const size_t count;
};

/// For the messages of whoever reads on.
llvm::Error malformed(const llvm::Twine &what);

/// Fields of JSON that anybody wrote, printable; "" and 0 where they lack.
std::string textAt(const llvm::json::Object &object, llvm::StringRef key);
int64_t numberAt(const llvm::json::Object &object, llvm::StringRef key);
/// The objects in the list at `key`, none if it is absent.
std::vector<const llvm::json::Object *>
objectsAt(const llvm::json::Object &object, llvm::StringRef key);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_DATA_H
