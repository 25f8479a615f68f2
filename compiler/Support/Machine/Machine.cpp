//===- Machine.cpp - Speed of machines ------------------------------------===//

#include "compiler/Support/Machine/Machine.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

using namespace mpc;

/// Rates outside of this range would make times infinite or zero.
static constexpr double kMinRate = 1e-6, kMaxRate = 1e12;

namespace {
struct Rate {
  double Machine::*field;
  std::string_view key;
  double unit;
};
} // namespace

static constexpr Rate kRates[] = {
#define MPC_MACHINE_RATE(field, key, unit, help) {&Machine::field, key, unit},
#include "compiler/Support/Machine/MachineRates.def"
};

/// Fills in what a machine need not state. Returns "", or what is missing.
static std::string complete(Machine &machine) {
  auto otherwise = [](double &rate, double other) {
    if (rate == 0)
      rate = other;
  };
  if (machine.name.empty())
    return "name is missing";
  for (double Machine::*needed :
       {&Machine::f32, &Machine::bf16, &Machine::bytes})
    for (const Rate &rate : kRates)
      if (rate.field == needed && machine.*needed == 0)
        return std::string(rate.key) + " is missing";
  otherwise(machine.tf32, machine.f32);
  otherwise(machine.f16, machine.f32);
  otherwise(machine.fp8, machine.bf16);
  otherwise(machine.vector, machine.f32 / 2);
  otherwise(machine.transposedBytes, machine.bytes);
  return "";
}

//===----------------------------------------------------------------------===//
// Known machines
//===----------------------------------------------------------------------===//

const std::vector<KnownMachine> &mpc::knownMachines() {
  static const std::vector<KnownMachine> rows = [] {
    std::vector<KnownMachine> made = {
#define MPC_MACHINE(key, device, name, feature, models, source, ...)           \
  {key, feature, models, source, {name, device, __VA_ARGS__}},
#include "compiler/Support/Machine/Machines.def"
    };
    for (KnownMachine &row : made)
      (void)complete(row.machine);
    return made;
  }();
  return rows;
}

const KnownMachine *mpc::findKnownMachine(std::string_view key) {
  for (const KnownMachine &row : knownMachines())
    if (row.key == key)
      return &row;
  return nullptr;
}

/// Returns true if `words`, separated by spaces, has `word`.
static bool hasWord(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word)
      return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

const KnownMachine *mpc::findMachineFor(std::string_view device,
                                        std::string_view feature,
                                        std::string_view model) {
  const KnownMachine *first = nullptr;
  for (const KnownMachine &row : knownMachines()) {
    if (row.machine.device != device || row.feature != feature)
      continue;
    if (hasWord(row.models, model))
      return &row;
    if (!first)
      first = &row;
  }
  return first;
}

//===----------------------------------------------------------------------===//
// The cost model
//===----------------------------------------------------------------------===//

double mpc::operationRate(const Machine &machine, Arithmetic arithmetic) {
  switch (arithmetic) {
  case Arithmetic::Vector:
    return machine.vector;
  case Arithmetic::F32:
    return machine.f32;
  case Arithmetic::Tf32:
    return machine.tf32;
  case Arithmetic::Bf16:
    return machine.bf16;
  case Arithmetic::F16:
    return machine.f16;
  case Arithmetic::Fp8:
    return machine.fp8;
  case Arithmetic::F64:
    return machine.f32 / 2;
  }
  return machine.f32;
}

double mpc::byteRate(const Machine &machine, double bytes) {
  if (machine.nearBytes > 0 && bytes <= machine.nearSize)
    return machine.nearBytes;
  if (machine.farBytes > 0 && bytes <= machine.farSize)
    return machine.farBytes;
  return machine.bytes;
}

WorkTime mpc::timeOf(const Work &work, const Machine &machine) {
  return {machine.launch, work.flops / operationRate(machine, work.arithmetic),
          work.bytes / byteRate(machine, work.bytes)};
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::vector<std::string> mpc::machineKeys() {
  std::vector<std::string> keys = {"name", "device"};
  for (const Rate &rate : kRates)
    keys.emplace_back(rate.key);
  return keys;
}

std::vector<std::string> mpc::textOf(const Machine &machine) {
  std::vector<std::string> lines = {"name=" + machine.name,
                                    "device=" + machine.device};
  for (const Rate &rate : kRates)
    if (double value = machine.*rate.field; value > 0) {
      char text[32];
      std::snprintf(text, sizeof(text), "%.6g", value / rate.unit);
      lines.push_back(std::string(rate.key) + "=" + text);
    }
  return lines;
}

std::string mpc::setProperty(Machine &machine, std::string_view key,
                             const std::string &value) {
  if (key == "name" || key == "device") {
    if (value.empty())
      return std::string(key) + " must not be empty";
    (key == "name" ? machine.name : machine.device) = value;
    return "";
  }
  for (const Rate &rate : kRates) {
    if (rate.key != key)
      continue;
    double number = 0;
    const char *end = value.data() + value.size();
    auto [rest, error] = std::from_chars(value.data(), end, number);
    bool isRate = number == 0 || (number >= kMinRate && number <= kMaxRate);
    if (error != std::errc() || rest != end || !isRate)
      return std::string(key) +
             " must be 0 or lie between 1e-06 and 1e+12, but is '" + value +
             "'";
    machine.*rate.field = number * rate.unit;
    return "";
  }
  return "unknown key '" + std::string(key) + "'";
}

static std::string listKnownMachines() {
  std::string text;
  for (const KnownMachine &row : knownMachines())
    text += (text.empty() ? "" : ", ") + std::string(row.key);
  return text;
}

std::string mpc::readMachine(const std::vector<std::string> &text,
                             Machine &machine) {
  if (text.size() == 1 && text.front().find('=') == std::string::npos) {
    const KnownMachine *row = findKnownMachine(text.front());
    if (!row)
      return "there is no machine '" + text.front() +
             "'; known are: " + listKnownMachines();
    machine = row->machine;
    return "";
  }
  machine = Machine();
  for (const std::string &line : text) {
    size_t equals = line.find('=');
    if (equals == std::string::npos)
      return "must be KEY=VALUE, but is '" + line + "'";
    if (std::string why = setProperty(machine, line.substr(0, equals),
                                      line.substr(equals + 1));
        !why.empty())
      return why;
  }
  return complete(machine);
}
