//===- Machine.cpp - The rates of this machine ----------------------------===//

#include "tools/mpc/timing/Machine.h"
#include "tools/mpc/base/Text.h"

#include "kernels/cpu/team/team.h"
#include "kernels/devices.h"
#include "runtime/src/device/cpu/cpu_count.h"

#include <nlohmann/json.hpp>

using namespace mpc::tool;
namespace kernels = mpc::kernels;

int mpc::tool::numThreads(const SessionSettings &settings) {
  return settings.threads > 0 ? static_cast<int>(settings.threads)
                              : runtime::default_threads();
}

bool mpc::tool::runsOnCpu(const Session &session) {
  std::string device = mpc_session_device(session.get());
  device.resize(std::min(device.find(" ("), device.size()));
  return device == kernels::kDevices[0].name;
}

std::optional<Ceilings>
mpc::tool::measureCeilings(const Session &session,
                           const SessionSettings &settings) {
  if (!runsOnCpu(session))
    return std::nullopt;
  const int threads = numThreads(settings);
  std::string error;
  std::unique_ptr<kernels::Team> team = kernels::Team::start(threads, &error);
  if (!team)
    throw Failure(Limit, "cannot measure the machine's rates: " + error);
  kernels::TeamScope scope(team.get());
  return kernels::measure_ceilings(threads);
}

std::string mpc::tool::formatCeilings(const Ceilings &ceilings) {
  std::string text;
  auto add = [&](const char *name, double rate, const char *unit) {
    if (rate > 0)
      text += format("%s%s %.1f %s", text.empty() ? "" : ", ", name,
                     rate * 1e-9, unit);
  };
  add("f32", ceilings.f32_flops, "GFLOP/s");
  add("bf16", ceilings.bf16_flops, "GFLOP/s");
  add("AMX", ceilings.amx_flops, "GFLOP/s");
  add("copy", ceilings.copy_bytes, "GB/s");
  return text.empty() ? "unknown" : text;
}

static nlohmann::ordered_json rateOrNull(double rate) {
  return rate > 0 ? nlohmann::ordered_json(rate) : nullptr;
}

nlohmann::ordered_json mpc::tool::toJson(const Ceilings &ceilings) {
  nlohmann::ordered_json json;
  json["f32_flops_per_s"] = rateOrNull(ceilings.f32_flops);
  json["bf16_flops_per_s"] = rateOrNull(ceilings.bf16_flops);
  json["amx_flops_per_s"] = rateOrNull(ceilings.amx_flops);
  json["copy_bytes_per_s"] = rateOrNull(ceilings.copy_bytes);
  return json;
}
