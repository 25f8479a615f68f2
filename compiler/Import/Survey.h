//===- Survey.h - What a whole model asks for -------------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_SURVEY_H
#define MPC_COMPILER_IMPORT_SURVEY_H

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

/// What an import finds out about a model if it continues after nodes that
/// fail. Why nodes failed is in the diagnostics.
struct ModelSurvey {
  /// An op that is not supported.
  struct Refusal {
    std::string op;                 ///< With its domain, if that is not ONNX's.
    std::string why;                ///< "not supported"
    std::vector<std::string> nodes; ///< Names.
  };

  bool isRead = false;  ///< Whether the file is a model at all.
  std::string producer; ///< "pytorch 2.13.0"; may be empty.
  int64_t opset = 0;    ///< As the file says; 0: it does not.
  int64_t numNodes = 0; ///< Also of subgraphs; functions are inlined.
  int64_t numFailed = 0;
  int64_t numUnseen = 0; ///< Depend on nodes that failed or are refused.
  std::vector<Refusal> refusals;
  /// What does not stop a model from being trained, but is seldom meant.
  std::vector<std::string> remarks;

  bool isComplete() const {
    return refusals.empty() && numFailed == 0 && numUnseen == 0;
  }
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_SURVEY_H
