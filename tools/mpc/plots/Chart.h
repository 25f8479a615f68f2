//===- Chart.h - Curves as SVG ----------------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PLOTS_CHART_H
#define MPC_TOOLS_MPC_PLOTS_CHART_H

#include "tools/mpc/plots/RunLog.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// A curve of a chart.
struct Series {
  std::string label;
  size_t color = 0; ///< The number of the run.
  bool isDashed = false;
  Curve curve;
};

/// A figure in HTML with the curves over steps, and a legend. `smoothing`, in
/// [0, 1), is the memory of a moving average, which is drawn over curves of
/// more than a hundred points; 0: none.
std::string drawChart(const std::string &title,
                      const std::vector<Series> &series, double smoothing);

/// The style sheet that charts need.
const char *chartStyle();

/// Text for HTML: `<` becomes `&lt;`.
std::string escapeHtml(const std::string &text);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PLOTS_CHART_H
