//===- Report.cpp - mpc report --------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/CompileOptions.h"
#include "tools/mpc/Print.h"
#include "tools/mpc/Runtime.h"

#include "compiler/Support/Report.h"
#include "passes/Pipeline.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>

using namespace mpc::tool;

namespace {
struct Options {
  std::string path, function;
  bool json = false;
  CompileArguments arguments;
};
} // namespace

/// The report in a package, or that of a model compiled without writing
/// anything.
static std::string findReport(const Options &options) {
  if (std::filesystem::path(options.path).extension() == ".mpc") {
    std::string given = options.arguments.firstGiven();
    if (!given.empty())
      throw Failure(Usage, given + " is for ONNX files; '" + options.path +
                               "' is compiled already");
    Program program(options.path);
    size_t size = 0;
    const char *report = mpc_program_report(program.get(), &size);
    return std::string(report ? report : "", size);
  }
  mpc::CompileResult result =
      mpc::compileModel(options.arguments.toOptions(options.path));
  printMessages(result);
  if (result.exitCode != 0)
    throw AlreadyReported(static_cast<ExitCode>(result.exitCode));
  return result.report;
}

static int run(const Options &options) {
  std::string report = findReport(options);
  if (options.json) {
    std::puts(report.c_str());
    return Ok;
  }
  llvm::Expected<std::string> table =
      mpc::renderReport(report, options.function);
  if (!table)
    throw Failure(Damaged,
                  options.path + ": " + llvm::toString(table.takeError()));
  say("%s", table->c_str());
  return Ok;
}

Action mpc::tool::addReport(CLI::App &app) {
  auto options = std::make_shared<Options>();
  CLI::App *report =
      app.add_subcommand("report", "Which op runs in which precision, and why");
  report
      ->add_option("model", options->path,
                   "A package, or an ONNX file to be compiled for it")
      ->option_text("MODEL")
      ->required();
  report
      ->add_option("--function", options->function,
                   "Only this one: step, evaluate, predict")
      ->option_text("NAME");
  options->arguments.addTo(*report);
  report->add_flag("--json", options->json, "Print the report as JSON");
  return [options] { return run(*options); };
}
