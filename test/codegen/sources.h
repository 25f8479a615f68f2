//===- sources.h - What kernels are tested on -------------------*- C++ -*-===//
#ifndef MPC_TEST_CODEGEN_SOURCES_H
#define MPC_TEST_CODEGEN_SOURCES_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mpc::test {

/// A module of the train dialect and the range of its inputs.
struct KernelProgram {
  std::string name; ///< "Softmax-bf16-130x64".
  std::string text;
  double low, high;
};

/// The names of the sources, one or more for each kind of walk. The programs of
/// a source cover all types and shapes.
std::vector<std::string> sourceNames();
std::vector<KernelProgram> programsOf(const std::string &source);

} // namespace mpc::test

#endif // MPC_TEST_CODEGEN_SOURCES_H
