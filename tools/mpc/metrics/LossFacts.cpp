//===- LossFacts.cpp - What a package records about its loss --------------===//

#include "tools/mpc/metrics/LossFacts.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

using namespace mpc::tool;

static constexpr std::pair<const char *, Task> kKinds[] = {
    {"softmax-cross-entropy", Task::Classes},
    {"softmax-focal", Task::Classes},
    {"negative-log-likelihood", Task::Classes},
    {"bce-with-logits", Task::Binary},
    {"focal", Task::Binary},
    {"mse", Task::Numbers},
    {"l1", Task::Numbers},
    {"huber", Task::Numbers},
    {"smooth-l1", Task::Numbers},
};

/// The text between `before` and `after`; "" if it does not contain both.
static std::string between(const std::string &text, const std::string &before,
                           const std::string &after) {
  size_t begin = text.find(before);
  if (begin == text.npos)
    return "";
  begin += before.size();
  size_t end = text.find(after, begin);
  return end == text.npos ? "" : text.substr(begin, end - begin);
}

/// The kind of a loss in the graph: "output 'loss' of the model, mse", or
/// "'loss' (mse), computed by the model's own training step".
static std::string kindInGraph(const std::string &text) {
  for (const auto &[kind, task] : kKinds) {
    std::string end = std::string(" of the model, ") + kind;
    if ((text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0) ||
        text.find(std::string(" (") + kind + "), ") != text.npos)
      return kind;
  }
  return "";
}

LossFacts::LossFacts(const Program &program) {
  // "mse of output 'y' against input 'targets'", perhaps with ", classes along
  // axis 1"; other texts mean that the loss is part of the model.
  const std::string text = program.option("loss");
  // Users must say which loss of a sum they mean.
  const bool isSum = program.option("loss-parts").rfind("sum", 0) == 0 &&
                     text.find(" + ") != text.npos;
  if (!isSum)
    output = between(text, " of output '", "' against input '");
  isAdded = !output.empty();
  if (isAdded) {
    kind = text.substr(0, text.find(" of output '"));
    input = between(text + "\n", "' against input '", "'");
    size_t classes = text.rfind(", classes along axis ");
    if (task() == Task::Classes)
      axis = classes == text.npos
                 ? 1
                 : std::strtoull(text.c_str() + classes + 21, nullptr, 10);
  } else {
    kind = kindInGraph(text);
  }

  std::istringstream lines(program.option("loss-parts"));
  for (std::string line; std::getline(lines, line);) {
    size_t space = line.find(' ');
    if (space == line.npos)
      continue;
    std::string key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "scores") {
      size_t next = value.find(' ');
      std::string activation = value.substr(0, next);
      std::string name = next == value.npos ? "" : value.substr(next + 1);
      activations[name] = activation;
      scores[name] = activation == "log-softmax" ? Scores::LogProbabilities
                                                 : Scores::Probabilities;
    } else if (!isAdded && key == "prediction") {
      output = value;
    } else if (!isAdded && key == "target") {
      input = value;
    } else if (!isAdded && key == "kind") {
      kind = value;
    } else if (!isAdded && key == "axis") {
      axis = std::strtoull(value.c_str(), nullptr, 10);
    }
  }
}

std::vector<std::string> mpc::tool::keysOfLosses(const Program &program) {
  const std::string prefix = "sample_";
  std::vector<std::string> keys;
  for (const Binding &output : program.outputs("evaluate"))
    if (output.name.rfind(prefix + "loss:", 0) == 0)
      keys.push_back(output.name.substr(prefix.size()));
  return keys;
}

std::optional<Task> LossFacts::task() const {
  for (const auto &[name, task] : kKinds)
    if (kind == name)
      return task;
  return std::nullopt;
}
