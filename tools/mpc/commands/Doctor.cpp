//===- Doctor.cpp - mpc doctor --------------------------------------------===//

#include "kernels/cpu_isa.h"
#include "runtime/src/device/cpu/cpu_count.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/Version.h"
#include "tools/mpc/base/Gpu.h"
#include "tools/mpc/base/NumaNodes.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/options/MachineFile.h"
#include "tools/mpc/timing/MeasureMachine.h"

#ifdef MPC_HAS_COMPILER
#include "llvm/Config/llvm-config.h"
#endif
#include "flatbuffers/base.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <dnnl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

using namespace mpc::tool;
using Json = nlohmann::ordered_json;

//===----------------------------------------------------------------------===//
// Finding out
//===----------------------------------------------------------------------===//

namespace {
struct Cpu {
  std::string name;
  std::set<std::string> flags; ///< As /proc/cpuinfo spells them.
};
} // namespace

/// Whether MPC_MAX_CPU_ISA allows a CPU flag. LLVM spells flags without
/// underscores.
static bool mayUse(std::string flag) {
  flag.erase(std::remove(flag.begin(), flag.end(), '_'), flag.end());
  return mpc::kernels::isa_allows(mpc::kernels::cpu_isa_limit().isa, flag);
}

static Cpu readCpu() {
  Cpu cpu;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    std::string value = line.substr(std::min(colon + 2, line.size()));
    if (line.rfind("model name", 0) == 0 && cpu.name.empty())
      cpu.name = value;
    if (line.rfind("flags", 0) == 0) {
      std::istringstream words(value);
      for (std::string word; words >> word;)
        if (mayUse(word))
          cpu.flags.insert(word);
      break;
    }
  }
  return cpu;
}

static unsigned allowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return sysconf(_SC_NPROCESSORS_ONLN);
  return CPU_COUNT(&set);
}

/// How each precision is computed on this CPU.
static Json describePrecisions(const Cpu &cpu) {
  auto has = [&](const char *flag) { return cpu.flags.count(flag) > 0; };
  Json json;
  json["fp32"] = has("avx512f") ? "native, 512-bit vectors"
                 : has("avx2")  ? "native, 256-bit vectors"
                                : "native";
  json["bf16"] = has("amx_bf16")      ? "native (AMX)"
                 : has("avx512_bf16") ? "native (AVX-512 BF16)"
                                      : "storage in bf16, arithmetic in f32";
  json["fp16"] = "storage in fp16, arithmetic in f32";
  return json;
}

static Json examine() {
  Cpu cpu = readCpu();
  Json json;
  json["mpc"] = MPC_VERSION;
  json["cpu"] = cpu.name.empty() ? "unknown" : cpu.name;
  json["features"] = Json::array();
  for (const char *flag :
       {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_bf16",
        "avx512_fp16", "amx_bf16"})
    if (cpu.flags.count(flag))
      json["features"].push_back(flag);
  const mpc::kernels::CpuIsaLimit &limit = mpc::kernels::cpu_isa_limit();
  if (limit.name)
    json["limit"] = limit.name;
  json["precisions"] = describePrecisions(cpu);
  json["cpus"] = allowedCpus();
  json["threads"] = mpc::runtime::default_threads();
  uint64_t pages = sysconf(_SC_PHYS_PAGES), pageSize = sysconf(_SC_PAGESIZE);
  json["memory"] = pages * pageSize;
  const std::vector<NumaNode> nodes = findNumaNodes();
  json["numa_nodes"] = Json::array();
  for (const NumaNode &node : nodes)
    json["numa_nodes"].push_back(node.cpus);

  const dnnl_version_t *dnnl = dnnl_version();
  json["libraries"]["oneDNN"] =
      format("%d.%d.%d", dnnl->major, dnnl->minor, dnnl->patch);
  json["libraries"]["OpenMP"] = format("%d", mpc::runtime::openmp_version());
  json["libraries"]["FlatBuffers"] =
      format("%d.%d.%d", FLATBUFFERS_VERSION_MAJOR, FLATBUFFERS_VERSION_MINOR,
             FLATBUFFERS_VERSION_REVISION);
#ifdef MPC_HAS_COMPILER
  json["libraries"]["LLVM"] = LLVM_VERSION_STRING;
#endif

  if (std::string advice = adviceFor(nodes); !advice.empty())
    json["advice"] = advice;
  Json warnings = Json::array();
  if (!limit.error.empty())
    warnings.push_back(limit.error);
  int threads = json["threads"];
  int cpus = allowedCpus();
  if (threads > cpus)
    warnings.push_back(format("OMP_NUM_THREADS asks for %d threads, but there "
                              "are %d CPUs: training will be slow",
                              threads, cpus));
  double quota = mpc::runtime::cpu_quota();
  if (quota > 0 && threads > quota + 0.5)
    warnings.push_back(format("the control group allows %.1f CPUs, but there "
                              "are %d threads: give --threads=%d",
                              quota, threads,
                              std::max(1, int(std::lround(quota)))));
  json["warnings"] = warnings;
  return json;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static void printMachine(const Json &json) {
  auto line = [](const std::string &name, const std::string &value) {
    std::printf("%-14s %s\n", name.c_str(), value.c_str());
  };
  auto text = [](const Json &value) { return value.get<std::string>(); };
  std::string features;
  for (const Json &feature : json["features"])
    features += (features.empty() ? "" : " ") + text(feature);
  line("mpc", text(json["mpc"]));
  line("CPU", text(json["cpu"]));
  line("features", features.empty() ? "none known to mpc" : features);
  if (json.contains("limit"))
    line("limited to", text(json["limit"]) + "by MPC_MAX_CPU_ISA");
  for (const auto &[precision, how] : json["precisions"].items())
    line(precision, text(how));
  line("threads", format("%d on %d CPUs", json["threads"].get<int>(),
                         json["cpus"].get<int>()));
  line("memory", formatBytes(json["memory"].get<uint64_t>()));
  std::string nodes;
  for (const Json &cpus : json["numa_nodes"])
    nodes += (nodes.empty() ? "" : " and ") + text(cpus);
  if (json["numa_nodes"].size() > 1)
    line("NUMA nodes",
         format("%zu: CPUs %s", json["numa_nodes"].size(), nodes.c_str()));
  for (const auto &[library, version] : json["libraries"].items())
    line(library, text(version));
  if (json.contains("advice"))
    line("advice", text(json["advice"]));
  for (const Json &warning : json["warnings"])
    line("warning", text(warning));
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// The value of --measure without a file.
static const std::string kToStdout = "true";

static void measureThisMachine(const std::string &file, uint64_t threads) {
  const bool prints = file == kToStdout;
  if (!prints && std::filesystem::path(file).extension() != ".toml")
    throw Failure(Usage, "--measure: the name of the file must end in .toml, "
                         "but is '" +
                             file + "'");
  const std::string place = prints ? "" : resolveOutputPath(file, {});
  Cpu cpu = readCpu();
  std::string text = printMachineFile(measureMachine(
      cpu.name.empty() ? "an unknown CPU" : cpu.name,
      threads > 0 ? int(threads) : mpc::runtime::default_threads()));
  if (prints)
    return printResult("%s", text.c_str());
  writeFile(place, text);
  printResult("%s: rates of this machine, for --machine and --cost\n",
              file.c_str());
}

Action mpc::tool::addDoctor(CLI::App &app) {
  struct Options {
    bool device = false, json = false;
    std::string measure; ///< A file, or kToStdout; "": nothing is measured.
    uint64_t threads = 0;
  };
  auto options = std::make_shared<Options>();
  CLI::App *doctor =
      app.add_subcommand("doctor", "Report what this machine supports");
  CLI::Option *device = doctor->add_flag(
      "--device", options->device, "Report GPUs, their driver and libraries");
  CLI::Option *json =
      doctor->add_flag("--json", options->json, "Print one JSON object");
  CLI::Option *measure =
      doctor
          ->add_flag(
              "--measure", options->measure,
              "Measure the rates of this CPU for a few seconds and print "
              "them, or write them to a file for --machine and --cost")
          ->option_text("[=FILE.toml]");
  measure->excludes(device)->excludes(json);
  doctor
      ->add_option("--threads", options->threads,
                   "Threads to measure (default: those of mpc train)")
      ->option_text("N")
      ->check(Whole(1))
      ->needs(measure);
  return [options]() -> int {
    if (!options->measure.empty()) {
      measureThisMachine(options->measure, options->threads);
      return Ok;
    }
    if (options->device) {
      Json tools = describeGpuTools();
      Json gpus = describeGpus(loadGpuLibraries(), tools);
      if (!options->json) {
        printGpus(gpus, tools);
        return Ok;
      }
      gpus["tools"] = std::move(tools);
      printJson(gpus, 2);
      return Ok;
    }
    Json findings = examine();
    if (options->json)
      printJson(findings, 2);
    else
      printMachine(findings);
    return Ok;
  };
}
