//===- Estimate.cpp - Estimated times of instructions ---------------------===//

#include "compiler/Report/Cost/Estimate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"

using namespace mpc;
using namespace mpc::report;
using llvm::StringRef;

StringRef mpc::report::nameOf(Limit limit) {
  switch (limit) {
  case Limit::Arithmetic:
    return "flop";
  case Limit::Memory:
    return "memory";
  case Limit::Launch:
    return "launch";
  }
  return "";
}

Limit InstructionEstimate::limit() const {
  if (time.launch > std::max(time.arithmetic, time.memory))
    return Limit::Launch;
  return time.arithmetic > time.memory ? Limit::Arithmetic : Limit::Memory;
}

/// Library kernels other than poolings multiply matrices.
static Arithmetic arithmeticOf(const Instruction &instruction) {
  if (instruction.isGenerated || StringRef(instruction.kernel).contains("pool"))
    return Arithmetic::Vector;
  return llvm::StringSwitch<Arithmetic>(instruction.dtype)
      .Case("f32", Arithmetic::F32)
      .Case("tf32", Arithmetic::Tf32)
      .Case("bf16", Arithmetic::Bf16)
      .Case("f16", Arithmetic::F16)
      .Case("f64", Arithmetic::F64)
      .StartsWith("f8", Arithmetic::Fp8)
      .Default(Arithmetic::Vector);
}

static Work workOf(const Instruction &instruction, Formats formats) {
  Arithmetic arithmetic = arithmeticOf(instruction);
  if (formats == Formats::Chosen)
    return {arithmetic, double(instruction.flops), double(instruction.bytes)};
  bool isNarrow = llvm::is_contained(
      {Arithmetic::Bf16, Arithmetic::F16, Arithmetic::Fp8}, arithmetic);
  return {isNarrow ? Arithmetic::F32 : arithmetic,
          double(instruction.wideFlops), double(instruction.wideBytes)};
}

EntryEstimate mpc::report::estimateEntry(const Device &device,
                                         const Device::Entry &entry,
                                         const Machine &machine,
                                         Formats formats) {
  EntryEstimate estimate;
  estimate.entry = entry.name;
  double products = 0;
  for (const Instruction &instruction : device.instructions) {
    uint64_t launches = instruction.launchesIn(entry.name);
    Work work = workOf(instruction, formats);
    // A program in f32 has no instruction that only rounds.
    if (launches == 0 || (formats == Formats::Wide && work.bytes == 0))
      continue;
    InstructionEstimate row = {&instruction, launches, work,
                               timeOf(work, machine)};
    estimate.launches += launches;
    estimate.flops += double(launches) * work.flops;
    estimate.bytes += double(launches) * work.bytes;
    estimate.nanoseconds += row.nanoseconds();
    estimate.limitedBy[size_t(row.limit())] += row.nanoseconds();
    if (!instruction.isGenerated)
      products += double(launches) * row.time.arithmetic;
    estimate.rows.push_back(row);
  }
  estimate.bound =
      std::max(products, double(entry.requiredBytes) / machine.bytes);
  llvm::stable_sort(estimate.rows, [](const auto &a, const auto &b) {
    return a.nanoseconds() > b.nanoseconds();
  });
  return estimate;
}

std::vector<double> mpc::report::courseOf(const Device &device,
                                          const Device::Entry &entry,
                                          const Machine &machine) {
  std::vector<double> course;
  for (uint64_t index : entry.sequence) {
    if (index >= device.instructions.size())
      return {};
    const Instruction &instruction = device.instructions[index];
    course.push_back(
        timeOf(workOf(instruction, Formats::Chosen), machine).sum());
  }
  return course;
}

std::optional<double> mpc::report::estimateStep(const Device &device,
                                                const Machine &machine,
                                                uint64_t batches,
                                                Formats formats) {
  if (device.instructions.empty())
    return std::nullopt;
  double step = 0, predict = 0;
  for (const Device::Entry &entry : device.entries) {
    double nanoseconds =
        estimateEntry(device, entry, machine, formats).nanoseconds;
    if (entry.name == "accumulate")
      step += double(batches) * nanoseconds;
    else if (isTrainingEntry(entry.name) || entry.name == "apply")
      step += nanoseconds;
    if (entry.name == "predict")
      predict = nanoseconds;
  }
  double sum = step > 0 ? step : predict;
  return sum > 0 ? std::optional(sum) : std::nullopt;
}

std::optional<Machine> mpc::report::machineOf(const Device &device) {
  Machine machine;
  if (device.machine.empty() || !readMachine(device.machine, machine).empty())
    return std::nullopt;
  return machine;
}

std::string mpc::report::inTime(double nanoseconds) {
  struct Unit {
    double size;
    const char *name;
  };
  constexpr Unit units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
  const Unit *unit = llvm::find_if(
      units, [&](const Unit &unit) { return nanoseconds >= unit.size; });
  if (unit == std::end(units))
    --unit;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.3g ", nanoseconds / unit->size) << unit->name;
  return text;
}

std::string mpc::report::percent(double part, double whole) {
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format("%.1f %%", whole > 0 ? 100 * part / whole : 0);
  return text;
}
