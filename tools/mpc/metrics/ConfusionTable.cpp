//===- ConfusionTable.cpp - A confusion matrix as text --------------------===//

#include "tools/mpc/metrics/ConfusionTable.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"

#include <algorithm>

using namespace mpc::tool;

/// The number of characters of UTF-8.
static size_t charactersOf(const std::string &text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (c & 0xc0) != 0x80; });
}

/// "0.9231", or "-" for a class that was never predicted, or has no label.
static std::string shareText(uint64_t hits, uint64_t all) {
  return all == 0 ? "-" : format("%.4f", double(hits) / double(all));
}

std::string
mpc::tool::formatConfusion(const std::vector<std::vector<uint64_t>> &matrix,
                           const std::vector<std::string> &classes) {
  const size_t size = matrix.size();
  size_t width = std::to_string(size - 1).size();
  const int numberWidth = int(width);
  for (const auto &row : matrix)
    for (uint64_t count : row)
      width = std::max(width, std::to_string(count).size());
  const int columns = int(width);

  std::vector<std::string> heads;
  size_t headWidth = 0;
  for (size_t i = 0; i < size; ++i) {
    heads.push_back(format("%*zu", numberWidth, i));
    if (i < classes.size())
      heads.back() += " " + printable(classes[i]);
    headWidth = std::max(headWidth, charactersOf(heads.back()));
  }

  std::string text = "\n" + std::string(headWidth, ' ') + " |";
  for (size_t i = 0; i < size; ++i)
    text += format(" %*zu", columns, i);
  text += " | precision  recall";
  for (size_t i = 0; i < size; ++i) {
    text += "\n" + heads[i] +
            std::string(headWidth - charactersOf(heads[i]), ' ') + " |";
    uint64_t labelled = 0, predicted = 0;
    for (size_t j = 0; j < size; ++j) {
      labelled += matrix[i][j];
      predicted += matrix[j][i];
      text += format(" %*llu", columns,
                     static_cast<unsigned long long>(matrix[i][j]));
    }
    text += format(" | %9s %7s", shareText(matrix[i][i], predicted).c_str(),
                   shareText(matrix[i][i], labelled).c_str());
  }
  return text;
}
