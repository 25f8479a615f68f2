//===- Time.cpp - Estimated times of entry points -------------------------===//

#include "compiler/Report/Text/Time.h"

#include "llvm/Support/Format.h"

using namespace mpc::report;

static Time estimate(const Rates &rates, const Cost &computed,
                     const Device::Entry &entry) {
  auto add = [&](uint64_t flops, double rate, uint64_t bytes) {
    return double(flops) / rate + double(bytes) / rates.bytes;
  };
  // Counts of a wider format include those of the narrower ones.
  return {
      double(computed.tf32Flops) / rates.tf32 +
          add(computed.wideFlops() - computed.tf32Flops, rates.wide,
              entry.bytes - entry.lowBytes),
      add(computed.lowFlops - std::min(computed.lowFlops, computed.fp8Flops),
          rates.low, entry.lowBytes - entry.fp8Bytes),
      add(computed.fp8Flops, rates.fp8, entry.fp8Bytes)};
}

void mpc::report::estimateTimes(Report &report) {
  for (Device &device : report.devices)
    for (Device::Entry &entry : device.entries) {
      const Function *function = report.find(entry.name);
      // Earlier versions do not record the bytes.
      if (!device.rates || !function || entry.bytes == 0)
        continue;
      Cost computed = function->totals;
      if (const Recomputation *again = report.findRecomputation(entry.name))
        computed += again->cost;
      entry.time = estimate(*device.rates, computed, entry);
    }
}

std::string mpc::report::describeTime(const Report &report, const Rates &rates,
                                      const Time &time) {
  std::string text;
  llvm::raw_string_ostream os(text);
  double sum = time.sum() > 0 ? time.sum() : 1;
  auto add = [&](llvm::StringRef format, double part) {
    os << (text.empty() ? "" : ", ")
       << llvm::format("%.1f %% in ", 100 * part / sum) << format;
  };
  add(report.wideName(), time.wide);
  std::string low = report.lowNameWithoutFp8().str();
  add(time.low > 0 && !rates.multipliesLow()
          ? low + ", multiplied as " + report.wideName().str()
          : low,
      time.low);
  if (time.fp8 > 0)
    add(rates.multipliesFp8() ? "fp8" : "fp8, multiplied as " + low, time.fp8);
  os << " (estimated from the rates of " << rates.machine << ')';
  return text;
}
