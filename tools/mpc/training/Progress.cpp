//===- Progress.cpp - Progress of training on stderr ----------------------===//

#include "tools/mpc/training/Progress.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

using namespace mpc::tool;

static constexpr auto kRedrawTime = std::chrono::milliseconds(80);
static constexpr auto kLineTime = std::chrono::minutes(1);

//===----------------------------------------------------------------------===//
// Formatting
//===----------------------------------------------------------------------===//

static std::string formatEpoch(const ProgressState &state) {
  if (state.epoch == 0)
    return "";
  if (state.epochs == 0)
    return format("epoch %llu", static_cast<unsigned long long>(state.epoch));
  return format("epoch %llu/%llu", static_cast<unsigned long long>(state.epoch),
                static_cast<unsigned long long>(state.epochs));
}

static std::string formatScale(float scale) {
  return scale == 1 ? "" : format("scale %.9g", scale);
}

static std::string formatRate(double samplesPerSecond) {
  if (!(samplesPerSecond > 0))
    return "";
  return formatCount(std::llround(samplesPerSecond)) + " samples/s";
}

static std::string formatPerplexity(const ProgressState &state,
                                    const char *what,
                                    std::optional<double> loss) {
  return state.hasPerplexity && loss
             ? format("%s perplexity %.2f", what, std::exp(*loss))
             : "";
}

static std::string formatEvalLoss(const ProgressState &state) {
  return state.evalLoss ? format("eval loss %.4f", unsignedNan(*state.evalLoss))
                        : "";
}

static std::string formatEvalAccuracy(const ProgressState &state) {
  return state.evalAccuracy
             ? format("eval accuracy %.2f %%", 100 * *state.evalAccuracy)
             : "";
}

static double shareDone(const ProgressState &state) {
  if (state.total == 0)
    return 0;
  return std::min(1.0, double(state.done) / state.total);
}

/// A bar of `width` columns whose fraction `share` is filled.
static std::string drawBar(double share, unsigned width, bool utf8) {
  unsigned filled = std::floor(share * width);
  std::string bar;
  for (unsigned i = 0; i < width; ++i) {
    if (utf8)
      bar += i < filled ? "━" : "─";
    else
      bar += i < filled ? '=' : i == filled ? '>' : '-';
  }
  return bar;
}

std::string mpc::tool::formatProgressBar(const ProgressState &state,
                                         unsigned columns, bool utf8) {
  constexpr unsigned minBar = 8, maxBar = 30;
  // Fields in the order of the line; a higher rank is dropped earlier.
  // Everything except the bar is ASCII, so bytes are columns.
  struct Field {
    std::string text;
    int rank;
  };
  // Whole seconds, because more digits would flicker.
  std::string time;
  if (state.secondsLeft >= 0 && state.done < state.total)
    time = formatClock(state.secondsLeft) + " left";
  std::vector<Field> before = {{state.title, 5}, {formatEpoch(state), 1}};
  std::vector<Field> after = {
      {format("%3.0f %%", std::floor(100 * shareDone(state))), 0},
      {format("train loss %.4f", unsignedNan(state.trainLoss)), 0},
      {formatPerplexity(state, "train", state.trainLoss), 5},
      {formatEvalLoss(state), 3},
      {formatPerplexity(state, "eval", state.evalLoss), 5},
      {formatEvalAccuracy(state), 4},
      {state.evalMetrics, 5},
      {formatRate(state.samplesPerSecond), 3},
      {formatScale(state.lossScale), 2},
      {time, 1}};

  auto lengthOf = [](const std::vector<Field> &fields) {
    unsigned length = 0;
    for (const Field &field : fields)
      length += field.text.empty() ? 0 : field.text.size() + 2;
    return length;
  };
  for (int rank = 5; rank > 0; --rank) {
    if (lengthOf(before) + lengthOf(after) + minBar <= columns)
      break;
    for (std::vector<Field> *fields : {&before, &after})
      for (Field &field : *fields)
        if (field.rank == rank)
          field.text.clear();
  }

  unsigned used = lengthOf(before) + lengthOf(after);
  std::string line;
  for (const Field &field : before)
    if (!field.text.empty())
      line += field.text + "  ";
  if (used + minBar <= columns)
    line += drawBar(shareDone(state), std::min(columns - used, maxBar), utf8) +
            "  ";
  for (const Field &field : after)
    if (!field.text.empty())
      line += field.text + "  ";
  line.resize(line.size() - 2);
  // The terminal is too narrow even for the fields that cannot be dropped.
  if (used + minBar > columns && line.size() > columns)
    line.resize(columns);
  return line;
}

std::string mpc::tool::formatProgressLine(const ProgressState &state) {
  std::string line =
      format("step %llu/%llu", static_cast<unsigned long long>(state.done),
             static_cast<unsigned long long>(state.total));
  if (std::string epoch = formatEpoch(state); !epoch.empty())
    line = epoch + ", " + line;
  line += format(": train loss %.4f", unsignedNan(state.trainLoss));
  for (const std::string &text :
       {formatPerplexity(state, "train", state.trainLoss),
        formatEvalLoss(state), formatPerplexity(state, "eval", state.evalLoss),
        formatEvalAccuracy(state), state.evalMetrics,
        formatRate(state.samplesPerSecond), formatScale(state.lossScale)})
    if (!text.empty())
      line += ", " + text;
  if (state.secondsLeft > 0)
    line += ", " + formatDuration(state.secondsLeft) + " left";
  return line;
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static bool isTerminal(std::FILE *stream) {
  const char *name = std::getenv("TERM");
  return isatty(fileno(stream)) && name && std::strcmp(name, "dumb") != 0;
}

static bool speaksUtf8() {
  // The first of these that is not empty decides, as in setlocale.
  for (const char *name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char *value = std::getenv(name); value && *value)
      return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
  return false;
}

static unsigned terminalColumns(std::FILE *stream) {
  winsize size = {};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

Progress::Progress(std::FILE *stream, bool quiet)
    : stream(stream), quiet(quiet), terminal(isTerminal(stream)),
      utf8(speaksUtf8()),
      nextTime(Clock::now() +
               (terminal ? kRedrawTime : Clock::duration(kLineTime))) {}

void Progress::update(const ProgressState &state) {
  if (quiet)
    return;
  Clock::time_point now = Clock::now();
  if (now < nextTime)
    return;
  if (!terminal) {
    std::fprintf(stream, "%s\n", formatProgressLine(state).c_str());
    nextTime = now + kLineTime;
    return;
  }
  // The last column stays free: some terminals wrap when it is written.
  std::string bar = formatProgressBar(state, terminalColumns(stream) - 1, utf8);
  std::fprintf(stream, "\r\x1b[K%s", bar.c_str());
  std::fflush(stream);
  drawn = true;
  nextTime = now + kRedrawTime;
}

void Progress::printLine(const ProgressState &state) {
  if (quiet)
    return;
  clear();
  std::fprintf(stream, "%s\n", formatProgressLine(state).c_str());
  nextTime = terminal ? Clock::time_point::min() : Clock::now() + kLineTime;
}

void Progress::finish(const ProgressState &state) {
  if (quiet || !terminal)
    return;
  nextTime = Clock::time_point::min();
  update(state);
  std::fputc('\n', stream);
  drawn = false;
}

void Progress::clear() {
  if (!drawn)
    return;
  std::fputs("\r\x1b[K", stream);
  std::fflush(stream);
  drawn = false;
}
