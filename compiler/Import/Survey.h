//===- Survey.h - Requirements of a whole model -----------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_SURVEY_H
#define MPC_COMPILER_IMPORT_SURVEY_H

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

/// The findings of an import that continues after nodes that fail. The
/// diagnostics tell why nodes failed.
struct ModelSurvey {
  /// An op that is not supported.
  struct Refusal {
    std::string op;                 ///< With its domain if that is not ONNX's.
    std::string why;                ///< "not supported"
    std::vector<std::string> nodes; ///< Names.
  };

  bool isRead = false;  ///< True if the file is a model at all.
  std::string producer; ///< "pytorch 2.13.0"; may be empty.
  int64_t opset = 0;    ///< The file's opset; 0 if it has none.
  int64_t numNodes = 0; ///< Including subgraphs; functions are inlined.
  int64_t numFailed = 0;
  int64_t numUnseen = 0; ///< Nodes that depend on failed or unsupported nodes.
  std::vector<Refusal> refusals;
  /// Properties that do not prevent training but are rarely intended.
  std::vector<std::string> remarks;

  bool isComplete() const {
    return refusals.empty() && numFailed == 0 && numUnseen == 0;
  }
};

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_SURVEY_H
