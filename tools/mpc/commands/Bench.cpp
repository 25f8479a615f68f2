//===- Bench.cpp - mpc bench ----------------------------------------------===//
//
// Measures training steps of a package on one batch. Plain steps, profiled ones
// and those of PyTorch take turns, so that a change of the machine's speed
// affects all of them, and the cost of profiling is known.
//
//===----------------------------------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/timing/Machine.h"
#include "tools/mpc/timing/ProfileFile.h"
#include "tools/mpc/timing/PythonSteps.h"
#include "tools/mpc/timing/StepTimes.h"
#include "tools/mpc/timing/TimeProfile.h"
#include "tools/mpc/training/setup/BatchOption.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <vector>

using namespace mpc::tool;
using Json = nlohmann::ordered_json;

namespace {

struct BenchCommand {
  std::string package, profileFile;
  DataOptions data;
  BatchOption batch;
  std::optional<uint64_t> steps; ///< Absent: as many as take kSeconds.
  uint64_t warmUp = 5, rows = 10;
  bool json = false;
  SessionSettings session;
  PythonSettings python;
};

/// The steps of PyTorch in one mode.
struct Rival {
  std::string mode;
  std::unique_ptr<PythonSteps> steps;
  StepTimes times;
};

/// Everything that a run measures.
struct Results {
  uint64_t samples = 0; ///< In a step.
  StepTimes plain, profiled;
  std::vector<Rival> rivals;
  TimeProfile profile;
  std::optional<Ceilings> before, after;
  mpc_memory_info_t memory = {};
  std::optional<uint64_t> residentBytes; ///< The maximum during the steps.

  double seconds() const { return plain.quantile(0.5); }
  /// Floating-point operations of the library kernels of a step.
  double flops() const { return profile.flops() / double(profiled.count()); }
  /// The time of these at the peak rates, as a share of the time of a step.
  std::optional<double> shareOfPeak() const {
    std::optional<double> atPeak = profile.secondsAtPeak();
    if (!atPeak)
      return std::nullopt;
    return *atPeak / double(profiled.count()) / seconds();
  }
};

} // namespace

/// The time that the plain steps take by default, and the limits of their
/// number.
static constexpr double kSeconds = 2;
static constexpr uint64_t kLeastSteps = 10, kMostSteps = 2000;

/// Parts into which plain and profiled steps are divided: many, because the
/// speed of a shared machine changes within a tenth of a second.
static constexpr uint64_t kRounds = 50;

/// A relative change of the machine's speed that makes times unreliable.
static constexpr double kMaxChange = 0.1;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Makes the peak of the resident memory the current size. Returns false if the
/// system does not allow it.
static bool resetPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return bool(file);
}

/// The peak of the resident memory; none if unknown.
static std::optional<uint64_t> readPeak() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;)
    if (uint64_t kibibytes; word == "VmHWM:" && file >> kibibytes)
      return kibibytes * 1024;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// The number of steps to measure: by default, as many as fill the time.
static uint64_t chooseSteps(const BenchCommand &options,
                            const StepTimes &warmUp) {
  if (options.steps)
    return *options.steps;
  if (warmUp.count() == 0)
    return kLeastSteps;
  double count = kSeconds / std::max(1e-9, warmUp.quantile(0));
  return uint64_t(std::clamp(count, double(kLeastSteps), double(kMostSteps)));
}

static void profileSteps(Session &session, StepRunner &runner, uint64_t count,
                         mpc_profile_options_t &options, StepTimes &times) {
  check(mpc_session_profile_start(session.get(), &options));
  options.resume = 1;
  runner.run(count, times);
  check(mpc_session_profile_stop(session.get()));
}

/// Starts the processes of --against. `settings` must outlive them.
static std::vector<Rival> startRivals(const PythonSettings &settings) {
  std::vector<Rival> rivals;
  if (settings.script.empty())
    return rivals;
  for (const char *mode : {"eager", "compile"})
    rivals.push_back({mode, std::make_unique<PythonSteps>(settings, mode), {}});
  return rivals;
}

/// Throws a Failure if steps of this package have no counterpart in PyTorch.
static PythonSettings checkAgainst(const BenchCommand &options,
                                   const Program &program,
                                   const Session &session) {
  PythonSettings settings = options.python;
  if (settings.script.empty())
    return settings;
  settings.precision = program.option("precision");
  settings.threads = numThreads(options.session);
  if (std::ifstream(settings.script).fail())
    throw Failure(InputOutput, describeUnreadable(settings.script));
  if (!runsOnCpu(session))
    throw Failure(Usage, "--against compares steps on the CPU; use "
                         "--device=cpu");
  if (settings.precision != "fp32" && settings.precision != "bf16")
    throw Failure(Usage, "--against compares packages in fp32 or bf16; this "
                         "one is " +
                             settings.precision);
  return settings;
}

static Results measure(const BenchCommand &options, const Program &program,
                       Session &session,
                       const std::optional<ProfileFile> &file) {
  Results results;
  const std::string entry = options.batch.entryOf(program, program.stepEntry());
  const StepInputs inputs(options.data, program.inputs(entry.c_str()));
  results.samples = inputs.numSamples() * program.microBatches();
  results.memory.struct_size = sizeof(results.memory);
  mpc_program_memory(program.get(), &results.memory);
  // Long enough for any number of steps.
  setTotalSteps(session, program, 1'000'000'000);

  results.before = measureCeilings(session, options.session);
  const bool peakIsKnown = resetPeak();
  const PythonSettings python = checkAgainst(options, program, session);
  results.rivals = startRivals(python);
  StepRunner runner(session, program, inputs);
  StepTimes warmUp;
  runner.run(options.warmUp, warmUp);
  const uint64_t steps = chooseSteps(options, warmUp);
  mpc_profile_options_t profile = {};
  profile.struct_size = sizeof(profile);
  if (file)
    profile = file->optionsFor(session, steps * (program.microBatches() + 2));
  for (uint64_t round = 0, done = 0; round < kRounds; ++round) {
    const uint64_t end = steps * (round + 1) / kRounds;
    if (end == done)
      continue;
    runner.run(end - done, results.plain);
    profileSteps(session, runner, end - done, profile, results.profiled);
    for (Rival &rival : results.rivals)
      rival.steps->run(end - done, rival.times);
    done = end;
  }
  if (peakIsKnown)
    results.residentBytes = readPeak();
  for (Rival &rival : results.rivals)
    rival.steps.reset();
  results.after = measureCeilings(session, options.session);
  results.profile = readProfile(session, results.before);
  return results;
}

/// The relative difference of the machine's speed before and after.
static double changeOf(const Results &results) {
  if (!results.before || !results.after || results.before->f32_flops <= 0)
    return 0;
  return results.after->f32_flops / results.before->f32_flops - 1;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

static std::string formatTime(double seconds) {
  return seconds < 1e-3 ? format("%.1f us", seconds * 1e6)
                        : format("%.3f ms", seconds * 1e3);
}

static std::string describeThreads(const Session &session,
                                   const SessionSettings &settings) {
  if (!runsOnCpu(session))
    return "";
  return " with " + formatCount(uint64_t(numThreads(settings)), "thread");
}

static double overheadOf(const Results &results) {
  return results.profiled.quantile(0.5) / results.seconds() - 1;
}

static void print(const BenchCommand &options, const Program &program,
                  const Session &session, const Results &results) {
  const StepTimes &times = results.plain;
  printResult("%s: %s, %s, batch %llu, on %s%s\n",
              std::filesystem::path(program.path).filename().c_str(),
              program.option("precision").c_str(),
              program.option("optimizer").c_str(),
              static_cast<unsigned long long>(results.samples),
              mpc_session_device(session.get()),
              describeThreads(session, options.session).c_str());
  printResult("step        %s median, %s minimum, %s to %s in 80 %% of %s\n",
              formatTime(results.seconds()).c_str(),
              formatTime(times.quantile(0)).c_str(),
              formatTime(times.quantile(0.1)).c_str(),
              formatTime(times.quantile(0.9)).c_str(),
              formatCount(times.count(), "step").c_str());
  std::string arithmetic;
  if (double flops = results.flops(); flops > 0) {
    arithmetic = format("; library kernels: %.4g MFLOP per step, %.1f GFLOP/s",
                        flops * 1e-6, flops / results.seconds() * 1e-9);
    if (auto share = results.shareOfPeak())
      arithmetic += format(", %.1f %% of their peak", 100 * *share);
  }
  printResult("throughput  %s samples/s%s\n",
              formatCount(uint64_t(double(results.samples) / results.seconds()))
                  .c_str(),
              arithmetic.c_str());
  printResult(
      "memory      %s of states, %s of arena%s\n",
      formatBytes(results.memory.state_bytes).c_str(),
      formatBytes(results.memory.arena_bytes).c_str(),
      results.residentBytes
          ? (", " + formatBytes(*results.residentBytes) + " resident at most")
                .c_str()
          : "");
  for (const Rival &rival : results.rivals)
    printResult("PyTorch     %s median (%s): %.2f times that of mpc\n",
                formatTime(rival.times.quantile(0.5)).c_str(),
                rival.mode.c_str(),
                rival.times.quantile(0.5) / results.seconds());
  if (results.after)
    printResult("afterwards  %s\n", formatCeilings(*results.after).c_str());
  printResult("\nprofile (a step takes %+.1f %% while it is measured)\n%s",
              100 * overheadOf(results),
              formatProfile(results.profile, options.rows).c_str());
}

/// The quantiles of times in nanoseconds.
static Json toJson(const StepTimes &times) {
  Json json;
  json["median"] = times.quantile(0.5) * 1e9;
  json["min"] = times.quantile(0) * 1e9;
  json["p10"] = times.quantile(0.1) * 1e9;
  json["p90"] = times.quantile(0.9) * 1e9;
  json["mean"] = times.sum() / double(times.count()) * 1e9;
  return json;
}

static Json toJson(const BenchCommand &options, const Program &program,
                   const Session &session, const Results &results) {
  const StepTimes &times = results.plain;
  Json json;
  json["package"] = program.path;
  json["precision"] = program.option("precision");
  json["optimizer"] = program.option("optimizer");
  json["device"] = mpc_session_device(session.get());
  json["threads"] = nullptr;
  if (runsOnCpu(session))
    json["threads"] = numThreads(options.session);
  json["samples_per_step"] = results.samples;
  json["steps"] = times.count();
  json["step_ns"] = toJson(times);
  json["samples_per_s"] = double(results.samples) / results.seconds();
  json["flops_per_step"] = results.flops();
  json["share_of_peak"] = nullptr;
  if (auto share = results.shareOfPeak())
    json["share_of_peak"] = *share;
  json["state_bytes"] = results.memory.state_bytes;
  json["arena_bytes"] = results.memory.arena_bytes;
  json["resident_bytes"] = nullptr;
  if (results.residentBytes)
    json["resident_bytes"] = *results.residentBytes;
  json["ceilings_after"] = nullptr;
  if (results.after)
    json["ceilings_after"] = toJson(*results.after);
  json["profiled_step_ns"] = toJson(results.profiled);
  for (const Rival &rival : results.rivals)
    json["pytorch"][rival.mode] = toJson(rival.times);
  json["profile"] = toJson(results.profile);
  return json;
}

static int runBench(const BenchCommand &options) {
  Program program(options.package);
  // Fails early if the program cannot be trained.
  options.batch.checkProgram(program);
  std::optional<ProfileFile> file;
  if (!options.profileFile.empty())
    file.emplace(options.profileFile,
                 std::vector<InputFile>{{"the package", options.package},
                                        {"the data", options.data.path}});
  SessionSettings settings = options.session;
  settings.asynchronous = true;
  Session session(program, settings);
  const Results results = measure(options, program, session, file);
  if (double change = changeOf(results); std::fabs(change) > kMaxChange)
    warn(format("the machine's speed changed by %+.0f %% during the "
                "measurement; repeat it on an idle machine",
                100 * change));
  if (options.json)
    printJson(toJson(options, program, session, results));
  else
    print(options, program, session, results);
  if (!file)
    return Ok;
  file->write(session, results.profile, "profile of " + program.path);
  if (!options.json)
    printResult("%s\n", file->describe().c_str());
  return Ok;
}

Action mpc::tool::addBench(CLI::App &app) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App *bench = app.add_subcommand(
      "bench", "Measure the speed of training steps on one batch");
  bench->add_option("package", options->package, "Compiled model (.mpc)")
      ->option_text("MODEL.mpc")
      ->required();
  options->data.addTo(*bench, "Data whose first samples are the batch "
                              "(default: random inputs)");
  options->batch.addTo(*bench);
  bench
      ->add_option("--steps", options->steps,
                   "Steps to measure, and as many again with a profile "
                   "(default: as many as take 2 s)")
      ->option_text("N")
      ->check(Whole(1));
  bench
      ->add_option("--warm-up", options->warmUp,
                   "Steps before these (default: 5)")
      ->option_text("N")
      ->check(Whole(0));
  bench
      ->add_option("--against", options->python.script,
                   "Also measure PyTorch: a Python file whose make() returns a "
                   "module, a loss function and a batch")
      ->option_text("SCRIPT.py");
  bench
      ->add_option("--python", options->python.python,
                   "Interpreter for --against (default: python3)")
      ->option_text("PROGRAM");
  options->session.addTo(*bench);
  ProfileFile::addTo(*bench, options->profileFile);
  bench
      ->add_option("--rows", options->rows,
                   "Rows of the profile to print; 0: all (default: 10)")
      ->option_text("N")
      ->check(Whole(0))
      ->group("Profile");
  options->session.addCodeDirTo(*bench);
  bench->add_flag("--json", options->json, "Print one JSON object")
      ->group("Output");
  return [options, bench] {
    if (bench->count("--python") > 0 && options->python.script.empty())
      throw Failure(Usage, "--python requires --against");
    return runBench(*options);
  };
}
