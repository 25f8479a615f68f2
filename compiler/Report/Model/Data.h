//===- Data.h - A parsed report ---------------------------------*- C++ -*-===//
//
// docs/format/report.md describes the fields. Reports are untrusted files:
// reading one may fail but never crashes, and the parsed text has no control
// characters that could manipulate a terminal.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_REPORT_MODEL_DATA_H
#define MPC_COMPILER_REPORT_MODEL_DATA_H

#include "compiler/Support/ErrorPropagation.h"
#include "compiler/Support/Locations.h"

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
/// The phase of a node, from its name in a report.
Phase phaseOf(llvm::StringRef node);

/// Operations and memory traffic of ops. Numbers are unsigned, so that sums
/// over an invalid report cannot overflow with undefined behaviour.
struct Cost {
  uint64_t ops = 0;
  uint64_t flops = 0, lowFlops = 0; ///< Total, and in 16 bit or less.
  uint64_t fp8Flops = 0, tf32Flops = 0;
  uint64_t bytes = 0, lowBytes = 0;
  uint64_t casts = 0, castBytes = 0;

  uint64_t wideFlops() const { return flops - std::min(flops, lowFlops); }
  uint64_t wideBytes() const { return bytes - std::min(bytes, lowBytes); }
  Cost &operator+=(const Cost &other);
  Cost &operator-=(const Cost &other);
};

/// The source of a value: at most one of these.
struct Origin {
  int64_t op = -1;      ///< A line of the same function.
  std::string state;    ///< A tensor of the model.
  bool isInput = false; ///< An input of the entry point.
};

struct Operand {
  Origin origin;
  std::string dtype;  ///< The type in which it is read.
  uint64_t bytes = 0; ///< Bytes read.
  int64_t cast = -1;  ///< The cast between origin and op, or -1.
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
  std::string range; ///< The proven range of its result; "" for none.
  /// Id from compiler/Support/Precision/Rules.def or a later version of it.
  std::string ruleId;
  std::string module; ///< "transformer.h.0.attn", "" at the top.
  Phase phase = Phase::Forward;
  Cost cost; ///< Without casts.
  std::vector<Operand> operands;
  std::vector<ErrorPropagation>
      terms; ///< One per result; empty if nothing is known.

  /// How result number `result` is computed from the operands.
  ErrorPropagation errorPropagationOf(size_t result) const {
    return result < terms.size() ? terms[result] : ErrorPropagation::Other;
  }
  /// The node of the model that the op, or the op whose gradient it is, comes
  /// from.
  llvm::StringRef forwardNode() const;
  /// "bf16 -> f32"; one name if both are the same.
  std::string format() const;
  /// Returns true if it reads and writes nothing narrower than f32.
  bool isWide() const;
};

/// Returns true for entry points that run for each training batch.
inline bool isTrainingEntry(llvm::StringRef name) {
  return name == "step" || name == "accumulate" || name == "forward" ||
         name == "backward";
}

struct Function {
  std::string name;
  std::vector<Op> ops;
  std::vector<Cast> casts;
  Cost totals; ///< Includes ops without a line.
  uint64_t weightCasts = 0;

  bool isTraining() const { return isTrainingEntry(name); }
  /// The line that a cast is attributed to: the op that computes the value,
  /// else the first that reads it; -1 if there is none.
  int64_t lineOf(size_t cast) const;
};

/// Nanoseconds by the format of computation or memory access.
struct Time {
  double wide = 0, low = 0, fp8 = 0;

  double sum() const { return wide + low + fp8; }
};

/// What a machine does per nanosecond; see compiler/Support/Machine/Machine.h.
struct Rates {
  std::string machine;
  double bytes = 0;
  double wide = 0, tf32 = 0, low = 0, fp8 = 0; ///< Operations.

  bool multipliesFp8() const { return fp8 > low; }
  bool multipliesLow() const { return low > wide; }
};

/// A generated kernel, or calls of a library kernel that cost the same.
struct Instruction {
  std::string kernel; ///< "kernel_3", "matmul".
  std::string dtype;  ///< The format of a library kernel's arithmetic, or "".
  std::string node;   ///< The node of the first launch.
  bool isGenerated = false;
  uint64_t flops = 0, bytes = 0; ///< The cost of one launch.
  /// The same in a program without narrow formats; no bytes if that lacks it.
  uint64_t wideFlops = 0, wideBytes = 0;
  std::vector<std::pair<std::string, uint64_t>> launches; ///< By entry.

  uint64_t launchesIn(llvm::StringRef entry) const;
};

struct Device {
  struct Entry {
    std::string name;
    uint64_t launches = 0, calls = 0;
    uint64_t requiredBytes = 0;       ///< Inputs and states, read or written.
    uint64_t bytes = 0, lowBytes = 0; ///< Float bytes, total and in 16 bit or
    uint64_t fp8Bytes = 0;            ///< less: read and written by kernels.
    std::optional<Time> time;         ///< An estimate for the machine.
    uint64_t liveStride = 1;          ///< Instructions between the entries of
    std::vector<uint64_t> liveBytes;  ///< the bytes of the arena in use.
    /// The indices in `instructions` of what it runs, in order.
    std::vector<uint64_t> sequence;
  };
  std::string name;
  std::optional<Rates> rates;
  /// Lines of mpc::textOf; empty in f64 programs and from earlier versions.
  std::vector<std::string> machine;
  std::vector<Entry> entries;
  std::vector<Instruction> instructions; ///< None from earlier versions.
  uint64_t arena = 0, unsharedArena = 0, states = 0; ///< Bytes.
};

/// The recomputation in a function, which reduces the memory for its backward
/// pass.
struct Recomputation {
  /// Bytes that are kept, in the course of the ops of the function.
  struct Course {
    uint64_t ops = 0, stride = 1;
    std::vector<uint64_t> bytes;

    uint64_t peak() const;
  };
  std::string function;
  uint64_t forwardOps = 0; ///< These come first, and are the same in both.
  Cost cost;               ///< Cost of the recomputed ops.
  Course before, after;
};

/// Parameters with the same learning rate and decay.
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
  std::vector<std::string> otherDevices; ///< Devices with another report.
  /// All batch sizes, the reported one first; empty if there is only one.
  std::vector<int64_t> batches;
  std::vector<ParameterGroup> groups; ///< Empty if all are updated alike.
  std::vector<Recomputation> recomputed;
  llvm::json::Value json = nullptr; ///< The whole report as JSON.

  /// "bf16", with the devices if others have another report, and with the batch
  /// sizes if there are several.
  std::string title() const;
  const Function *find(llvm::StringRef name) const;
  const Recomputation *findRecomputation(llvm::StringRef function) const;
  /// The function that a summary describes: the training entry, else the first.
  const Function *principal() const;
  /// The name of the narrow format, "bf16" or "f16", or "16 bit" if there is
  /// none; and the name of the wide format.
  llvm::StringRef lowName() const;
  llvm::StringRef wideName() const;
  /// The name of the narrow format if FP8 is listed separately.
  llvm::StringRef lowNameWithoutFp8() const;
};

llvm::Expected<Report> read(llvm::StringRef json);
llvm::Expected<Report> readJson(llvm::json::Value json);

/// The same for a report without functions, which were read before.
llvm::Expected<Report> readJson(llvm::json::Value json,
                                std::vector<Function> functions);

/// Reads a function op by op, so that its JSON need not be in memory at once.
/// `head` is the function without its ops; `count` is the number of ops.
class FunctionReader {
public:
  FunctionReader(const llvm::json::Object &head, size_t count);
  void add(const llvm::json::Object &op);
  Function take() { return std::move(function); }

private:
  Function function;
  const size_t count;
};

/// Reads the report of one device.
Device readDevice(const llvm::json::Object &object);

/// The error for a malformed report, for callers that read further fields.
llvm::Error malformed(const llvm::Twine &what);

/// Fields of untrusted JSON, made printable; "" or 0 if they are missing.
std::string textAt(const llvm::json::Object &object, llvm::StringRef key);
int64_t numberAt(const llvm::json::Object &object, llvm::StringRef key);
/// The objects in the list at `key`, none if it is absent.
std::vector<const llvm::json::Object *>
objectsAt(const llvm::json::Object &object, llvm::StringRef key);

} // namespace mpc::report

#endif // MPC_COMPILER_REPORT_MODEL_DATA_H
