//===- Plot.cpp - mpc plot ------------------------------------------------===//

#include "tools/mpc/Command.h"
#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/Checks.h"
#include "tools/mpc/plots/Chart.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <utility>

using namespace mpc::tool;

namespace {
struct PlotCommand {
  std::vector<std::string> logs;
  std::string output = "plot.html";
  double smoothing = 0.9;
};

/// Names of the log that are drawn in the chart of another one, dashed.
struct Companion {
  const char *name, *chart;
};
} // namespace

static constexpr Companion kCompanions[] = {{"eval_loss", "loss"}};

/// Charts in the order of a report; others follow.
static constexpr const char *kFirstCharts[] = {"loss", "accuracy",
                                               "perplexity"};

/// The chart that a name belongs to.
static std::string chartOf(const std::string &name) {
  for (const Companion &companion : kCompanions)
    if (name == companion.name)
      return companion.chart;
  return name;
}

/// Whether a curve says nothing: a scale that is 1, or no skipped step.
static bool isTrivial(const std::string &name, const Curve &curve) {
  const bool isScale = name == "loss_scale";
  if (!isScale && name != "skipped")
    return false;
  for (const auto &[step, value] : curve)
    if (value != (isScale ? 1 : 0))
      return false;
  return true;
}

/// The charts of all runs, by their names.
static std::map<std::string, std::vector<Series>>
makeCharts(const std::vector<RunLog> &runs) {
  std::map<std::string, std::vector<Series>> charts;
  for (size_t i = 0; i < runs.size(); ++i)
    for (const auto &[name, curve] : runs[i].curves) {
      if (isTrivial(name, curve))
        continue;
      std::string chart = chartOf(name);
      std::string label = runs.size() > 1 ? runs[i].name + ": " + name : name;
      charts[chart].push_back({label, i, chart != name, curve});
    }
  for (auto &[name, series] : charts)
    std::stable_sort(series.begin(), series.end(),
                     [](const Series &a, const Series &b) {
                       return std::pair(a.color, a.isDashed) <
                              std::pair(b.color, b.isDashed);
                     });
  return charts;
}

static int runPlot(const PlotCommand &options) {
  std::vector<InputFile> inputs;
  for (const std::string &log : options.logs)
    inputs.push_back({"the log", log});
  const std::string place = resolveOutputPath(options.output, inputs);
  std::vector<RunLog> runs;
  for (const std::string &log : options.logs)
    runs.push_back(readRunLog(log));
  auto charts = makeCharts(runs);
  const size_t count = charts.size();

  const std::string title = "Training: " + joinWords(options.logs);
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width\"><title>" +
      escapeHtml(title) + "</title><style>" + chartStyle() +
      "</style></head>\n<body><h1>" + escapeHtml(title) + "</h1>\n";
  auto draw = [&](const std::string &name) {
    if (auto chart = charts.extract(name); !chart.empty())
      html += drawChart(name, chart.mapped(), options.smoothing);
  };
  for (const char *name : kFirstCharts)
    draw(name);
  while (!charts.empty())
    draw(charts.begin()->first);
  writeFile(place, html + "</body></html>\n");
  printResult("%s: %s of %s\n", options.output.c_str(),
              formatCount(count, "chart").c_str(),
              formatCount(runs.size(), "run").c_str());
  return Ok;
}

Action mpc::tool::addPlot(CLI::App &app) {
  auto options = std::make_shared<PlotCommand>();
  CLI::App *plot =
      app.add_subcommand("plot", "Draw the curves of training runs");
  plot->add_option("logs", options->logs,
                   "Logs of mpc train: files of --log or --json")
      ->option_text("LOG...")
      ->required();
  plot->add_option("--output,-o", options->output,
                   "HTML file to write (default: plot.html)")
      ->option_text("OUT.html");
  plot->add_option("--smooth", options->smoothing,
                   "Memory of the moving average that is drawn over curves of "
                   "many points (default: 0.9; 0: none)")
      ->option_text("X")
      ->check(HalfOpenUnit());
  return [options] { return runPlot(*options); };
}
