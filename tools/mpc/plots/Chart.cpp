//===- Chart.cpp - Curves as SVG ------------------------------------------===//

#include "tools/mpc/plots/Chart.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

static constexpr double kWidth = 720, kHeight = 300;
static constexpr double kLeft = 64, kRight = 16, kTop = 12, kBottom = 32;

/// The number of colours in the style sheet.
static constexpr size_t kColors = 8;

std::string mpc::tool::escapeHtml(const std::string &text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

const char *mpc::tool::chartStyle() {
  return R"(
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1e21; --grid: #dfe2e6;
  --c0: #2166ac; --c1: #b2182b; --c2: #1b7837; --c3: #e08214; --c4: #762a83; --c5: #01858a; --c6: #8c510a; --c7: #6b6e73; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e4e6e9; --grid: #363a40;
  --c0: #6baed6; --c1: #fb6a4a; --c2: #74c476; --c3: #fdae61; --c4: #c2a5cf; --c5: #5ec8c8; --c6: #d9b26f; --c7: #a9adb3; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.4 system-ui, sans-serif; max-width: 760px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 20px; } figure { margin: 24px 0; } figcaption { font-weight: 600; }
svg { width: 100%; height: auto; } text { fill: currentColor; font-size: 12px; }
.grid { stroke: var(--grid); } path { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.raw { opacity: 0.3; stroke-width: 1; } .dashed { stroke-dasharray: 6 3; }
ul { list-style: none; padding: 0; margin: 4px 0; display: flex; flex-wrap: wrap; gap: 4px 16px; }
li svg { width: 28px; height: 10px; vertical-align: middle; margin-right: 6px; }
)";
}

namespace {
/// The range of an axis and its ticks.
struct Axis {
  double low, high, step;
};
} // namespace

/// About five round numbers that cover the range: multiples of 1, 2 or 5 times
/// a power of ten.
static Axis axisFor(double low, double high) {
  if (low == high) {
    double margin = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= margin;
    high += margin;
  }
  const double rough = (high - low) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (double factor : {2.0, 5.0, 10.0})
    if (step < rough)
      step = factor * power;
  return {std::floor(low / step) * step, std::ceil(high / step) * step, step};
}

/// At most about a thousand points: the lowest and the highest of each group,
/// in their order.
static Curve thinned(const Curve &curve) {
  constexpr size_t most = 1000;
  if (curve.size() <= most)
    return curve;
  Curve result;
  const size_t group = (2 * curve.size() + most - 1) / most;
  for (size_t first = 0; first < curve.size(); first += group) {
    auto begin = curve.begin() + first;
    auto end = curve.begin() + std::min(first + group, curve.size());
    auto byValue = [](const auto &a, const auto &b) {
      return a.second < b.second;
    };
    auto [low, high] = std::minmax_element(begin, end, byValue);
    result.push_back(low < high ? *low : *high);
    if (low != high)
      result.push_back(low < high ? *high : *low);
  }
  return result;
}

/// A moving average with the weights of values that are `smoothing` times less
/// for each step back, corrected for its beginning.
static Curve smoothed(const Curve &curve, double smoothing) {
  Curve result;
  double sum = 0, weight = 0;
  for (const auto &[step, value] : curve) {
    sum = smoothing * sum + value;
    weight = smoothing * weight + 1;
    result.push_back({step, sum / weight});
  }
  return result;
}

namespace {
/// Draws into one coordinate system.
class Plot {
public:
  Plot(const Axis &x, const Axis &y) : x(x), y(y) {}

  std::string grid() const {
    std::string svg;
    for (int i = 0; y.low + i * y.step <= y.high + y.step / 2; ++i) {
      double value = y.low + i * y.step, at = toY(value);
      svg += format("<path class=\"grid\" d=\"M%g %.1fH%g\"/><text x=\"%g\" "
                    "y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
                    kLeft, at, kWidth - kRight, kLeft - 6, at + 4,
                    std::abs(value) < y.step * 1e-6 ? 0 : value);
    }
    for (int i = 0; x.low + i * x.step <= x.high + x.step / 2; ++i) {
      double value = x.low + i * x.step;
      svg += format("<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%.10g"
                    "</text>\n",
                    toX(value), kHeight - kBottom + 18, value);
    }
    return svg;
  }

  std::string path(const Series &series, const Curve &curve,
                   const char *name) const {
    std::string line;
    for (const auto &[step, value] : thinned(curve))
      line += format("%s%.1f %.1f", line.empty() ? "M" : "L", toX(step),
                     toY(value));
    if (curve.size() == 1) // A line without length would not be seen.
      line += format("h3");
    return format("<path class=\"%s%s\" stroke=\"var(--c%zu)\" d=\"", name,
                  series.isDashed ? " dashed" : "", series.color % kColors) +
           line + "\"><title>" + escapeHtml(series.label) + "</title></path>\n";
  }

private:
  double toX(double value) const {
    return kLeft +
           (value - x.low) / (x.high - x.low) * (kWidth - kLeft - kRight);
  }
  double toY(double value) const {
    return kHeight - kBottom -
           (value - y.low) / (y.high - y.low) * (kHeight - kTop - kBottom);
  }

  const Axis x, y;
};
} // namespace

std::string mpc::tool::drawChart(const std::string &title,
                                 const std::vector<Series> &series,
                                 double smoothing) {
  double firstX = INFINITY, lastX = -INFINITY, low = INFINITY, high = -INFINITY;
  for (const Series &one : series)
    for (const auto &[step, value] : one.curve) {
      firstX = std::min(firstX, step);
      lastX = std::max(lastX, step);
      low = std::min(low, value);
      high = std::max(high, value);
    }
  const Plot plot(axisFor(std::min(firstX, 0.0), lastX), axisFor(low, high));
  std::string html =
      "<figure><figcaption>" + escapeHtml(title) + "</figcaption>\n" +
      format("<svg viewBox=\"0 0 %g %g\" role=\"img\">\n", kWidth, kHeight) +
      plot.grid();
  constexpr size_t fewPoints = 100;
  std::string legend;
  for (const Series &one : series) {
    const bool isSmoothed = smoothing > 0 && one.curve.size() > fewPoints;
    html += plot.path(one, one.curve, isSmoothed ? "raw" : "line");
    if (isSmoothed)
      html += plot.path(one, smoothed(one.curve, smoothing), "line");
    legend += format("<li><svg viewBox=\"0 0 28 10\"><path class=\"line%s\" "
                     "stroke=\"var(--c%zu)\" d=\"M0 5H28\"/></svg>",
                     one.isDashed ? " dashed" : "", one.color % kColors) +
              escapeHtml(one.label) + "</li>";
  }
  return html + "</svg>\n<ul>" + legend + "</ul></figure>\n";
}
