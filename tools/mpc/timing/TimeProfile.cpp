//===- TimeProfile.cpp - Where the time of steps goes ---------------------===//

#include "tools/mpc/timing/TimeProfile.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>

using namespace mpc::tool;

double TimeProfile::flops() const {
  double sum = 0;
  for (const TimeRow &row : rows)
    sum += double(row.flops) * double(row.calls);
  return sum;
}

TimeProfile mpc::tool::readProfile(const Session &session,
                                   std::optional<Ceilings> ceilings) {
  mpc_profile_info_t info = {};
  info.struct_size = sizeof(info);
  check(mpc_session_profile_info(session.get(), &info));
  TimeProfile profile;
  profile.calls = info.calls;
  profile.totalNs = info.total_ns;
  profile.droppedEvents = info.dropped_events;
  profile.ceilings = ceilings;
  for (uint64_t i = 0; i < info.num_records; ++i) {
    mpc_profile_record_t record = {};
    record.struct_size = sizeof(record);
    check(mpc_session_profile_record(session.get(), i, &record));
    if (record.calls > 0)
      profile.rows.push_back({record.kind, record.entry, record.instruction,
                              record.kernel, record.implementation,
                              record.dtype, record.calls, record.total_ns,
                              record.min_ns, record.bytes, record.flops});
  }
  std::stable_sort(
      profile.rows.begin(), profile.rows.end(),
      [](const TimeRow &a, const TimeRow &b) { return a.totalNs > b.totalNs; });
  return profile;
}

/// `count` of each call per second.
static double rateOf(const TimeRow &row, uint64_t count) {
  return row.totalNs == 0
             ? 0
             : double(count) * double(row.calls) * 1e9 / double(row.totalNs);
}

//===----------------------------------------------------------------------===//
// Ceilings
//===----------------------------------------------------------------------===//

/// The peak rate for a kernel's operations; 0 if unknown. Kernels that do not
/// name an instruction for bf16 may widen their operands to f32.
static double peakFor(const TimeRow &row, const Ceilings &ceilings) {
  if (row.implementation.find("amx") != std::string::npos)
    return ceilings.amx_flops;
  switch (row.dtype) {
  case MPC_DTYPE_F32:
  case MPC_DTYPE_F16:
    return ceilings.f32_flops;
  case MPC_DTYPE_BF16:
    return std::max(ceilings.bf16_flops, ceilings.f32_flops);
  case MPC_DTYPE_F64:
    return ceilings.f32_flops / 2;
  default:
    return 0;
  }
}

std::optional<double> TimeProfile::secondsAtPeak() const {
  if (!ceilings)
    return std::nullopt;
  double seconds = 0;
  for (const TimeRow &row : rows) {
    if (row.flops == 0)
      continue;
    double peak = peakFor(row, *ceilings);
    if (peak <= 0)
      return std::nullopt;
    seconds += double(row.flops) * double(row.calls) / peak;
  }
  return seconds;
}

std::optional<OfCeiling>
mpc::tool::ofCeiling(const TimeRow &row,
                     const std::optional<Ceilings> &ceilings) {
  if (!ceilings || row.totalNs == 0)
    return std::nullopt;
  double peak = peakFor(row, *ceilings), copy = ceilings->copy_bytes;
  double arithmetic = peak > 0 ? rateOf(row, row.flops) / peak : 0;
  double memory = copy > 0 ? rateOf(row, row.bytes) / copy : 0;
  // Bytes say little about a kernel whose limit is an unknown peak.
  if (arithmetic == 0 && (memory == 0 || row.flops > 0))
    return std::nullopt;
  return arithmetic >= memory ? OfCeiling{arithmetic, true}
                              : OfCeiling{memory, false};
}

//===----------------------------------------------------------------------===//
// Table
//===----------------------------------------------------------------------===//

/// A row above this share of the copy rate uses a cache. A copy cannot be
/// measured more precisely.
static constexpr double kMaxShare = 1.2;

static std::string formatBillions(double rate) {
  return rate > 0 ? format("%.1f", rate * 1e-9) : "-";
}

/// "matmul", or "matmul (brg:avx512_core_bf16)".
static std::string describeKernel(const TimeRow &row) {
  std::string text = row.kernel;
  if (!row.implementation.empty())
    text += " (" + row.implementation + ")";
  return printable(text);
}

namespace {

/// Lays out the rows of a profile.
class Table {
public:
  explicit Table(const TimeProfile &profile) : profile(profile) {
    std::set<std::string> entries;
    for (const TimeRow &row : profile.rows) {
      if (!row.entry.empty())
        entries.insert(row.entry);
      width = std::max(width, describeKernel(row).size());
    }
    namesEntries = entries.size() > 1;
    width = std::min<size_t>(width, 44);
    text = format("%7s %10s %7s %9s %9s %7s %8s %9s  %-*s  %s\n", "share",
                  "total ms", "calls", "mean us", "min us", "GB/s", "GFLOP/s",
                  "ceiling", int(width), "kernel", "nodes");
  }

  void add(const TimeRow &row) {
    std::string ceiling = "-";
    if (auto of = ofCeiling(row, profile.ceilings))
      ceiling = of->isArithmetic ? format("%.0f %% flop", 100 * of->share)
                : of->share > kMaxShare
                    ? "cache"
                    : format("%.0f %% copy", 100 * of->share);
    std::string nodes = printable(row.nodes);
    if (namesEntries && !row.entry.empty())
      nodes = printable(row.entry) + ": " + nodes;
    line(row,
         format("%7s %8s %9s", formatBillions(rateOf(row, row.bytes)).c_str(),
                formatBillions(rateOf(row, row.flops)).c_str(),
                ceiling.c_str()),
         describeKernel(row), nodes);
  }

  /// One line for several rows.
  void addRest(const TimeRow &sum, size_t count) {
    line(sum, format("%7s %8s %9s", "", "", ""),
         formatCount(count, "other row"), "");
  }

  std::string text;

private:
  void line(const TimeRow &row, const std::string &rates,
            const std::string &kernel, const std::string &nodes) {
    double total = std::max<double>(1, profile.totalNs);
    std::string made = format(
        "%5.1f %% %10.3f %7llu %9.1f %9.1f %s  %-*s  %s",
        100 * double(row.totalNs) / total, double(row.totalNs) * 1e-6,
        static_cast<unsigned long long>(row.calls),
        double(row.totalNs) * 1e-3 / double(std::max<uint64_t>(1, row.calls)),
        double(row.minNs) * 1e-3, rates.c_str(), int(width), kernel.c_str(),
        nodes.c_str());
    made.erase(made.find_last_not_of(' ') + 1);
    text += made + "\n";
  }

  const TimeProfile &profile;
  size_t width = 6;
  bool namesEntries = false;
};

} // namespace

/// "library kernels 71.2 %, generated code 25.0 %, ...".
static std::string describeKinds(const TimeProfile &profile) {
  static const char *const names[] = {"library kernels", "generated code",
                                      "copies and zeros", "inputs", "dispatch"};
  uint64_t times[5] = {};
  for (const TimeRow &row : profile.rows)
    times[row.kind] += row.totalNs;
  std::string text;
  for (size_t kind = 0; kind < 5; ++kind)
    if (times[kind] > 0)
      text += format("%s%s %.1f %%", text.empty() ? "" : ", ", names[kind],
                     100 * double(times[kind]) / double(profile.totalNs));
  return text;
}

std::string mpc::tool::formatProfile(const TimeProfile &profile, size_t most) {
  if (profile.calls == 0)
    return "no calls\n";
  std::string text = format(
      "%s, %s each: %s\n", formatCount(profile.calls, "call").c_str(),
      formatDuration(double(profile.totalNs) * 1e-9 / double(profile.calls))
          .c_str(),
      describeKinds(profile).c_str());
  if (profile.ceilings)
    text +=
        "ceilings of this machine: " + formatCeilings(*profile.ceilings) + "\n";
  Table table(profile);
  size_t shown =
      most == 0 ? profile.rows.size() : std::min(most, profile.rows.size());
  for (size_t i = 0; i < shown; ++i)
    table.add(profile.rows[i]);
  if (shown < profile.rows.size()) {
    TimeRow sum = {};
    sum.minNs = UINT64_MAX;
    for (size_t i = shown; i < profile.rows.size(); ++i) {
      sum.calls += profile.rows[i].calls;
      sum.totalNs += profile.rows[i].totalNs;
      sum.minNs = std::min(sum.minNs, profile.rows[i].minNs);
    }
    table.addRest(sum, profile.rows.size() - shown);
  }
  return text + table.text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

nlohmann::ordered_json mpc::tool::toJson(const TimeProfile &profile) {
  static const char *const kinds[] = {"kernel", "generated", "move", "inputs",
                                      "dispatch"};
  nlohmann::ordered_json json;
  json["calls"] = profile.calls;
  json["total_ns"] = profile.totalNs;
  json["ceilings"] = nullptr;
  if (profile.ceilings)
    json["ceilings"] = toJson(*profile.ceilings);
  json["rows"] = nlohmann::ordered_json::array();
  for (const TimeRow &row : profile.rows) {
    nlohmann::ordered_json line;
    line["kind"] = kinds[row.kind];
    line["entry"] = row.entry;
    line["nodes"] = row.nodes;
    line["kernel"] = row.kernel;
    line["implementation"] = row.implementation;
    line["dtype"] = row.dtype
                        ? nlohmann::ordered_json(mpc_dtype_name(row.dtype))
                        : nlohmann::ordered_json(nullptr);
    line["calls"] = row.calls;
    line["total_ns"] = row.totalNs;
    line["min_ns"] = row.minNs;
    line["share"] = double(row.totalNs) / double(profile.totalNs);
    line["bytes"] = row.bytes;
    line["flops"] = row.flops;
    line["bytes_per_s"] = rateOf(row, row.bytes);
    line["flops_per_s"] = rateOf(row, row.flops);
    line["of_ceiling"] = nullptr;
    if (auto of = ofCeiling(row, profile.ceilings)) {
      line["of_ceiling"] = of->share;
      line["ceiling"] = of->isArithmetic ? "flops" : "copy";
    }
    json["rows"].push_back(std::move(line));
  }
  return json;
}
