//===- Report.cpp - mpc report --------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Package.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/options/CompileOptions.h"
#include "tools/mpc/options/MachineFile.h"
#include "tools/mpc/timing/RankTable.h"

#include "compiler/Export/Annotate.h"
#include "compiler/Import/Import.h"
#include "compiler/Report/Compare/Diff.h"
#include "compiler/Report/Cost/RenderCost.h"
#include "compiler/Report/Html/Html.h"
#include "compiler/Report/Model/Notes.h"
#include "compiler/Report/Model/Ranges.h"
#include "compiler/Report/Text/Render.h"
#include "compiler/Report/Text/Text.h"
#include "passes/Driver/Pipeline.h"
#include "runtime/src/base/files.h"

#include "llvm/ADT/StringExtras.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace mpc::tool;
using mpc::report::Selection;

namespace {
struct ReportCommand {
  std::string path, other;
  Selection selection;
  std::string only, explain, html, annotate, device, cost;
  bool json = false, all = false, diff = false;
  CompileArguments arguments;
  /// The machine of --cost=NAME; none for --cost.
  std::optional<mpc::Machine> machine;
  uint32_t ranks = 0; ///< 0: not asked for.
  double bandwidth = 0, latency = 50;
  std::string shard = "none";
};
} // namespace

/// The value of --cost without one: use the rates that the report states.
static constexpr const char *kRatesOfReport = "true";

//===----------------------------------------------------------------------===//
// Where reports come from
//===----------------------------------------------------------------------===//

/// Whether a file is a model, neither a package nor a report.
static bool isModelFile(const std::string &path) {
  std::string extension = std::filesystem::path(path).extension();
  return extension != ".mpc" && extension != ".json";
}

/// Reads a report that `--json` printed.
static std::string readReport(const std::string &path) {
  mpc::runtime::Memory memory;
  check(mpc::runtime::read_file(mpc::runtime::system_files(), path, UINT64_MAX,
                                &memory),
        path);
  return std::string(reinterpret_cast<const char *>(memory.data()),
                     memory.size());
}

static bool isJson(const std::string &path) {
  return std::filesystem::path(path).extension() == ".json";
}

/// Compiles for the machine of --cost, unless the user names targets or a
/// machine.
static void useMachine(const mpc::Machine &machine, const std::string &name,
                       mpc::CompileOptions &compile) {
  if (!compile.given.count("target")) {
    const mpc::KnownMachine *known = mpc::findKnownMachine(name);
    const mpc::Backend *backend = mpc::findBackend(machine.device);
    std::string architecture = backend->defaultArchitecture();
    if (!architecture.empty() && known)
      architecture = known->feature;
    compile.targets = {machine.device +
                       (architecture.empty() ? "" : ":" + architecture)};
  }
  bool isTarget = llvm::any_of(compile.targets, [&](llvm::StringRef target) {
    return target.split(':').first == machine.device;
  });
  if (isTarget && !compile.given.count("machine"))
    compile.machine = mpc::textOf(machine);
}

/// The report in a package or a file, or of a model, which is compiled without
/// writing a package. If the chosen device has its own report, returns that
/// one.
static std::string findReport(const std::string &path,
                              const ReportCommand &options) {
  if (isJson(path))
    return readReport(path);
  if (std::filesystem::path(path).extension() == ".mpc")
    return std::string(Package(path).report(options.device));
  mpc::CompileOptions compile = options.arguments.toOptions(path);
  if (options.machine)
    useMachine(*options.machine, options.cost, compile);
  mpc::CompileResult result = mpc::compile(compile);
  options.arguments.printMessages(result);
  if (failed(result.failure))
    throw AlreadyReported(exitCodeOf(result.failure));
  auto other = result.otherReports.find(options.device);
  return other == result.otherReports.end() ? result.report : other->second;
}

//===----------------------------------------------------------------------===//
// How they are shown
//===----------------------------------------------------------------------===//

static Selection::Kind kindOf(const std::string &only) {
  if (only == "f32")
    return Selection::Wide;
  if (only == "low")
    return Selection::Low;
  return only == "casts" ? Selection::Casts : Selection::All;
}

/// The width from COLUMNS or of the terminal; `otherwise` if neither is known,
/// as for a file or a pipe.
static size_t outputColumns(size_t otherwise) {
  constexpr size_t kMin = 60, kMax = 10000;
  size_t columns = 0;
  winsize size = {};
  if (const char *given = std::getenv("COLUMNS"))
    columns = std::strtoul(given, nullptr, 10);
  else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  return columns == 0 ? otherwise : std::clamp(columns, kMin, kMax);
}

static llvm::Error print(llvm::raw_ostream &os,
                         const mpc::report::Report &report,
                         const ReportCommand &options) {
  Selection selection = options.selection;
  selection.kind = kindOf(options.only);
  selection.canChooseDevice = !isJson(options.path);
  // Prose is wrapped even in files; lines that programs search are not.
  size_t width = outputColumns(100), lines = outputColumns(10000);
  if (!options.explain.empty())
    return printExplanation(os, report, options.explain, selection, width);
  if (!selection.module.empty())
    return printModule(os, report, selection, lines);
  if (options.all || selection.kind != Selection::All)
    return printTables(os, report, selection, lines);
  if (llvm::Error error = printSummary(os, report, selection, width))
    return error;
  if (!selection.function.empty() || report.principal()) {
    os << '\n';
    mpc::report::printWrapped(
        os,
        "More: --module=PATH, --only=f32, --explain=NODE, --function=NAME, "
        "--all, --html=FILE",
        0, width);
  }
  return llvm::Error::success();
}

/// Throws if the file is a profile, the other JSON format that mpc writes.
static void refuseProfile(const std::string &path) {
  if (!isJson(path))
    return;
  llvm::Expected<mpc::Profile> profile = mpc::Profile::read(path);
  if (profile)
    throw Failure(Usage, path +
                             " is a profile, which 'mpc report MODEL "
                             "--html=OUT.html --profile=" +
                             path + "' shows");
  llvm::consumeError(profile.takeError());
}

static mpc::report::Report read(const std::string &path,
                                const ReportCommand &options) {
  llvm::Expected<mpc::report::Report> report =
      mpc::report::read(findReport(path, options));
  if (!report) {
    refuseProfile(path);
    throw Failure(Damaged, path + ": " + llvm::toString(report.takeError()));
  }
  std::vector<std::string> names;
  for (const mpc::report::Device &device : report->devices)
    names.push_back(device.name);
  if (!options.device.empty() && !llvm::is_contained(names, options.device)) {
    if (!isJson(path)) // JSON holds only one report.
      llvm::append_range(names, report->otherDevices);
    throw Failure(
        Usage, "--device: '" + path + "' has no report for '" + options.device +
                   "'; it has one for " +
                   (names.empty() ? "no device" : llvm::join(names, " and ")));
  }
  if (!options.device.empty())
    llvm::erase_if(report->devices, [&](const mpc::report::Device &device) {
      return device.name != options.device;
    });
  return std::move(*report);
}

/// Devices for which both have separate reports, except those shown first.
static std::vector<std::string> sharedOthers(const mpc::report::Report &before,
                                             const mpc::report::Report &after) {
  std::vector<std::string> shared;
  for (const std::string &name : before.otherDevices)
    if (llvm::is_contained(after.otherDevices, name))
      shared.push_back(name);
  return shared;
}

/// Returns 1 if the reports differ, like `diff`: those of the given --device,
/// otherwise those of all devices that both have.
static int compare(const ReportCommand &options) {
  mpc::report::Report before = read(options.path, options),
                      after = read(options.other, options);
  mpc::report::Difference difference = mpc::report::compare(before, after);
  if (options.device.empty())
    for (const std::string &name : sharedOthers(before, after)) {
      ReportCommand ofDevice = options;
      ofDevice.device = name;
      difference.append(mpc::report::compare(read(options.path, ofDevice),
                                             read(options.other, ofDevice)),
                        name);
    }
  std::string text;
  llvm::raw_string_ostream os(text);
  if (options.json)
    os << llvm::json::Value(differenceJson(difference)) << '\n';
  else
    printDifference(os, difference, options.all, outputColumns(100));
  printResult("%s", text.c_str());
  return difference.empty() ? 0 : 1;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The place of an output file.
static std::string findPlaceOf(const std::string &output,
                               const ReportCommand &options) {
  std::vector<InputFile> inputs = {{"the input", options.path}};
  if (!options.arguments.profile().empty())
    inputs.push_back({"the profile", options.arguments.profile()});
  if (isModelFile(options.path))
    for (const std::string &file : mpc::externalFiles(options.path))
      inputs.push_back({"data of the model,", file});
  return resolveOutputPath(output, inputs);
}

/// Writes an annotated model; returns the number of nodes with annotations.
static size_t annotate(const mpc::report::Report &report,
                       const ReportCommand &options, const std::string &place) {
  mpc::Annotations annotations;
  annotations.model = notesOfModel(report);
  annotations.nodes = notesOfNodes(report);
  llvm::Expected<size_t> nodes =
      mpc::annotateModel(options.path, annotations, place);
  if (!nodes)
    check(nodes.takeError());
  return *nodes;
}

/// The report as an HTML page, with measurements if there is a profile.
static std::string makePage(const mpc::report::Report &report,
                            const std::optional<mpc::Profile> &profile) {
  if (!profile)
    return mpc::report::htmlPage(report);
  auto ranges = mpc::report::Ranges::match(report, *profile);
  if (!ranges)
    throw Failure(Usage, "--profile: " + llvm::toString(ranges.takeError()));
  if (!ranges->unknown().empty())
    note("profile '" + profile->path + "' lacks " + ranges->unknown() +
         ": the page shows no ranges there");
  return mpc::report::htmlPage(report, &*ranges);
}

static std::optional<mpc::Profile> readProfile(const std::string &path) {
  if (path.empty())
    return std::nullopt;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) ||
      std::filesystem::is_directory(path, ignored))
    throw Failure(InputOutput, describeUnreadable(path));
  llvm::Expected<mpc::Profile> profile = mpc::Profile::read(path);
  if (!profile)
    throw Failure(Usage, "--profile: " + llvm::toString(profile.takeError()));
  if (profile->empty())
    throw Failure(Usage,
                  "--profile: profile '" + path +
                      "' contains no tensor; create one with 'mpc profile'");
  return std::move(*profile);
}

/// Writes the requested files. Their places are checked before the model is
/// compiled.
static int write(const ReportCommand &options) {
  std::string page, model;
  if (!options.html.empty())
    page = findPlaceOf(options.html, options);
  if (!options.annotate.empty()) {
    model = findPlaceOf(options.annotate, options);
    // Large models have a second file next to them.
    std::string data = findPlaceOf(options.annotate + ".data", options);
    for (const std::string &place : {model, data})
      if (isSameFile(place, page))
        throw Failure(Usage, "--html and --annotate would both write '" +
                                 place + "'; choose different names");
  }
  std::optional<mpc::Profile> profile =
      readProfile(page.empty() ? "" : options.arguments.profile());
  mpc::report::Report report = read(options.path, options);
  if (!page.empty()) {
    writeFile(page, makePage(report, profile));
    printResult("%s: the report of '%s'\n", options.html.c_str(),
                options.path.c_str());
  }
  if (!model.empty()) {
    size_t nodes = annotate(report, options, model);
    printResult("%s: '%s' with notes at %s\n", options.annotate.c_str(),
                options.path.c_str(), formatCount(nodes, "node").c_str());
  }
  return Ok;
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

static void checkUsage(const ReportCommand &options) {
  std::string given = options.arguments.firstGiven();
  bool isCompiled = isModelFile(options.path) ||
                    (!options.other.empty() && isModelFile(options.other));
  if (!given.empty() && !isCompiled)
    throw Failure(Usage, given + " is for ONNX files; '" + options.path +
                             "' is already compiled");
  bool decides = isCompiled && options.arguments.policy().precision == "auto";
  if (!options.arguments.profile().empty() && options.html.empty() && !decides)
    throw Failure(Usage, "--profile requires --html=OUT.html");
  if (options.diff && options.other.empty())
    throw Failure(Usage, "--diff compares two reports: mpc report --diff '" +
                             options.path + "' OTHER");
  if (!options.diff && !options.other.empty())
    throw Failure(Usage, "unexpected argument '" + options.other +
                             "'; use --diff to compare two reports");
  if (!options.annotate.empty() && !isModelFile(options.path))
    throw Failure(Usage, "--annotate requires an ONNX file, but '" +
                             options.path + "' is not one");
}

/// The device whose cost is asked for.
static const mpc::report::Device &
deviceOfCost(const mpc::report::Report &report, const ReportCommand &options) {
  std::vector<std::string> names;
  for (const mpc::report::Device &device : report.devices) {
    if (!options.machine || device.name == options.machine->device)
      return device;
    names.push_back(device.name);
  }
  throw Failure(Usage, names.empty()
                           ? "--cost: '" + options.path + "' has no device"
                           : "--cost=" + options.cost +
                                 " has the rates of a '" +
                                 options.machine->device + "' device, but '" +
                                 options.path + "' was compiled for " +
                                 llvm::join(names, " and "));
}

/// Prints what an update costs with several ranks.
static void reportRanks(llvm::raw_ostream &os,
                        const mpc::report::Report &report,
                        const mpc::report::Device &device,
                        const mpc::Machine &machine,
                        const ReportCommand &options) {
  if (isModelFile(options.path) || isJson(options.path))
    throw Failure(Usage, "--ranks reads a package; compile the model with "
                         "--data-parallel first");
  if (device.name != "cpu")
    throw Failure(Usage, "--ranks: estimates for several ranks are for the "
                         "cpu, but these are for '" +
                             device.name + "'");
  Package package(options.path);
  // Bytes per nanosecond are GB/s.
  Network network = {options.bandwidth, options.latency * 1e3};
  std::vector<RankEstimate> estimates =
      estimateRanks(RankEstimator(package, device, machine, network,
                                  parseShard(options.shard)),
                    options.ranks);
  if (options.json) {
    os << llvm::json::Value(llvm::json::Object{{"device", device.name},
                                               {"ranks", ranksJson(estimates)}})
       << '\n';
    return;
  }
  os << report.model << (report.model.empty() ? "" : ": ") << report.title()
     << "\n\n";
  printRanks(os, estimates, machine, network, outputColumns(100));
}

/// Prints what instructions cost.
static int reportCost(ReportCommand options) {
  mpc::report::Report report = read(options.path, options);
  // The device of the machine may have a report of its own.
  if (options.machine &&
      llvm::is_contained(report.otherDevices, options.machine->device)) {
    options.device = options.machine->device;
    report = read(options.path, options);
  }
  const mpc::report::Device &device = deviceOfCost(report, options);
  if (device.instructions.empty())
    throw Failure(Usage, "--cost: '" + options.path +
                             "' was compiled by an earlier version of mpc, "
                             "which recorded no costs; compile it again");
  std::optional<mpc::Machine> machine =
      options.machine ? options.machine : machineOf(device);
  if (!machine)
    throw Failure(Usage, "--cost: '" + options.path +
                             "' states no rates of a machine; give "
                             "--cost=NAME or --cost=FILE.toml");
  std::string text;
  llvm::raw_string_ostream os(text);
  constexpr size_t kMostRows = 20;
  if (options.ranks > 0)
    reportRanks(os, report, device, *machine, options);
  else if (options.json)
    os << llvm::json::Value(costJson(device, *machine)) << '\n';
  else if (llvm::Error error = printCost(
               os, report, device, *machine, options.selection.function,
               options.all ? SIZE_MAX : kMostRows, outputColumns(100)))
    throw Failure(Usage, llvm::toString(std::move(error)));
  printResult("%s", text.c_str());
  return Ok;
}

static int runReport(ReportCommand options) {
  checkUsage(options);
  if (!options.cost.empty() && options.cost != kRatesOfReport)
    options.machine = readMachineOption("--cost", options.cost);
  if (!options.cost.empty())
    return reportCost(options);
  if (options.diff)
    return compare(options);
  if (!options.html.empty() || !options.annotate.empty())
    return write(options);
  mpc::report::Report report = read(options.path, options);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (options.json)
    os << report.json << '\n';
  else if (llvm::Error error = print(os, report, options))
    throw Failure(Usage, llvm::toString(std::move(error)));
  printResult("%s", text.c_str());
  return Ok;
}

/// Adds --ranks, with the options that describe what ranks do.
static void addRanks(CLI::App &report, ReportCommand &options,
                     CLI::Option *cost,
                     std::initializer_list<CLI::Option *> others) {
  CLI::Option *ranks = report
                           .add_option("--ranks", options.ranks,
                                       "With --cost: estimate an update by up "
                                       "to N processes, and what they wait for")
                           ->option_text("N")
                           ->check(Whole(2, 1 << 16))
                           ->needs(cost);
  CLI::Option *bandwidth =
      report
          .add_option("--bandwidth", options.bandwidth,
                      "GB/s of a rank's link in each direction, for --ranks")
          ->option_text("GB/S")
          ->check(Above(0))
          ->needs(ranks);
  ranks->needs(bandwidth);
  for (CLI::Option *other : others)
    ranks->excludes(other);
  report
      .add_option("--latency", options.latency,
                  "Microseconds of a small message (default: 50)")
      ->option_text("US")
      ->check(AtLeast(0))
      ->needs(ranks);
  report
      .add_option("--shard", options.shard,
                  "What the processes share: optimizer or gradients")
      ->option_text("optimizer|gradients")
      ->check(Choice({"optimizer", "gradients"}))
      ->needs(ranks);
}

/// Adds the options that show something other than the summary, and the options
/// that go with them.
static void addViews(CLI::App &report, ReportCommand &options) {
  CLI::Option *function =
      report
          .add_option("--function", options.selection.function,
                      "Only this function: step, evaluate or predict")
          ->option_text("NAME");
  report
      .add_option("--device", options.device,
                  "Device to report on (default: the first)")
      ->option_text("NAME");
  CLI::Option *module =
      report
          .add_option("--module", options.selection.module,
                      "List each op of a module: h.0, encoder/layer.3/attn")
          ->option_text("PATH");
  CLI::Option *all =
      report.add_flag("--all", options.all,
                      "List every op; with --diff, every op that changed");
  CLI::Option *only =
      report
          .add_option("--only", options.only,
                      "List ops in f32, with 16-bit values (low), or at a cast")
          ->check(Choice({"f32", "low", "casts"}))
          ->option_text("f32|low|casts");
  CLI::Option *explain = report
                             .add_option("--explain", options.explain,
                                         "Explain the precision of a node")
                             ->option_text("NODE");
  CLI::Option *diff =
      report.add_flag("--diff", options.diff,
                      "Show how two reports differ; exit status 1 if they do");
  CLI::Option *html = report
                          .add_option("--html", options.html,
                                      "Write the report as an HTML page")
                          ->option_text("OUT.html")
                          ->check(NotEmpty());
  CLI::Option *annotated =
      report
          .add_option("--annotate", options.annotate,
                      "Write a copy of the model annotated with each node's "
                      "precision, for Netron")
          ->option_text("OUT.onnx")
          ->check(NotEmpty());
  CLI::Option *json =
      report.add_flag("--json", options.json, "Print the report as JSON");
  CLI::Option *cost = report
                          .add_flag("--cost", options.cost,
                                    "Estimate the time of each instruction")
                          ->option_text("[=MACHINE]");
  for (CLI::Option *other : {module, only, explain, diff, html, annotated})
    cost->excludes(other);
  addRanks(report, options, cost, {function, all});
  for (CLI::Option *file : {html, annotated})
    for (CLI::Option *shown :
         {function, module, all, only, explain, diff, json})
      file->excludes(shown);
  module->excludes(explain)->excludes(diff)->excludes(all)->excludes(json);
  explain->excludes(diff)->excludes(all)->excludes(only)->excludes(json);
  diff->excludes(only)->excludes(function);
  json->excludes(only)->excludes(function);
}

Action mpc::tool::addReport(CLI::App &app) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App *report = app.add_subcommand(
      "report", "Show which op runs in which precision, and why");
  report
      ->add_option("model", options->path,
                   "A package, a report (.json), or an ONNX file, with the "
                   "options of mpc compile")
      ->option_text("MODEL")
      ->required();
  report->add_option("other", options->other, "Second report for --diff")
      ->option_text("[OTHER]");
  addViews(*report, *options);
  options->arguments.addHiddenTo(*report);
  options->arguments.showProfile(
      *report, "Also show what 'mpc profile' measured (with --html)");
  return [options] { return runReport(*options); };
}
