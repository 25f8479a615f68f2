//===- Variants.cpp - One model, compiled in several ways -----------------===//

#include "tools/mpc/compare/Variants.h"
#include "tools/mpc/base/CompilerFiles.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/options/CompileOptions.h"

#include <cstdlib>
#include <filesystem>

using namespace mpc::tool;

ScratchFolder::ScratchFolder() {
  std::error_code error;
  std::string pattern =
      (std::filesystem::temp_directory_path(error) / "mpc-XXXXXX").string();
  if (error || !mkdtemp(pattern.data()))
    throw Failure(InputOutput, "cannot make a folder like '" + pattern + "'");
  path = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

mpc::CompileResult mpc::tool::compileTo(CompileOptions options,
                                        const std::string &output) {
  options.output = output;
  CompileResult result = mpc::compile(options);
  if (failed(result.failure)) {
    printMessages(result);
    throw AlreadyReported(exitCodeOf(result.failure));
  }
  return result;
}

void mpc::tool::checkFillsBatch(const Dataset &data) {
  if (data.numSamples() < data.batchSize())
    throw Failure(
        Usage,
        format("%s has %s, fewer than one batch of %llu; use a smaller --batch",
               data.path.c_str(),
               formatCount(data.numSamples(), "sample").c_str(),
               static_cast<unsigned long long>(data.batchSize())));
}

Batches mpc::tool::nextBatches(Sampler &sampler, const Program &program) {
  Batches batches;
  for (uint64_t i = 0; i < program.microBatches(); ++i)
    batches.push_back(sampler.next().samples);
  return batches;
}

bool mpc::tool::update(Session &session, Dataset &data, const Batches &batches,
                       mpc_step_info_t &info) {
  constexpr int kMaxTries = 32;
  for (int i = 0; i < kMaxTries; ++i) {
    for (const std::vector<uint64_t> &samples : batches) {
      const std::vector<mpc_tensor_t> &inputs = data.gather(samples);
      info = {};
      info.struct_size = sizeof(info);
      mpc_status_t status =
          mpc_session_step(session.get(), inputs.data(), inputs.size(), &info);
      if (status && mpc_status_code(status) == MPC_NUMERIC) {
        mpc_status_free(status);
        return false;
      }
      check(status);
    }
    if (!info.skipped)
      return true;
  }
  return false;
}
