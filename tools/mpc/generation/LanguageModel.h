//===- LanguageModel.h - The next token of a text ---------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_GENERATION_LANGUAGEMODEL_H
#define MPC_TOOLS_MPC_GENERATION_LANGUAGEMODEL_H

#include "tools/mpc/base/Runtime.h"

#include <string>
#include <vector>

namespace mpc::tool {

/// Runs `predict` of a causal language model: token ids [B, T] become logits
/// [B, T, V]. All B texts are continued at the same time.
class LanguageModel {
public:
  /// `output` names the logits; "": the only output of this shape. `wanted` is
  /// the number of texts, for which a batch size is chosen. Throws a Failure if
  /// the program is no such model. The session must outlive this.
  LanguageModel(Session &session, const Program &program,
                const std::string &output, uint64_t wanted);

  int64_t texts() const { return batch; }      ///< B.
  int64_t length() const { return positions; } ///< T.
  int64_t tokens() const { return classes; }   ///< V.

  /// Throws a Failure unless 0 <= token < tokens() and the input allows it.
  void requireToken(int64_t token) const;

  /// The logits [B, V] that follow the texts, which have the same length of at
  /// least 1; only the last length() tokens are used. Valid until the next
  /// call. Throws a Failure if a logit is nan.
  const std::vector<float> &
  predict(const std::vector<std::vector<int64_t>> &texts);

  /// Throws a Failure if the logits of a text depend on what follows it.
  void requireCausal(const std::vector<int64_t> &text);

private:
  void run(const std::vector<std::vector<int64_t>> &texts, int64_t padding);

  Session &session;
  const std::string path;
  std::vector<Binding> inputs, outputs;
  size_t ids = 0, logits = 0; ///< The input of tokens, and the output.
  int64_t batch = 0, positions = 0, classes = 0;
  std::vector<std::vector<char>> inputData, outputData;
  std::vector<float> next;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_GENERATION_LANGUAGEMODEL_H
