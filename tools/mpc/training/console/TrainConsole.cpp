//===- TrainConsole.cpp - What mpc train prints ---------------------------===//

#include "tools/mpc/training/console/TrainConsole.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/training/Trainer.h"

#include "kernels/devices.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

using namespace mpc::tool;

TrainConsole::TrainConsole(ConsoleOptions options, const TrainOptions &training,
                           const Program &program)
    : console(std::move(options)), training(training), program(program),
      progress(stderr, console.quiet), messages(*this) {
  // Flush each line, so that readers can follow the log.
  if (console.json)
    std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
}

void TrainConsole::receive(const char *kind, const std::string &text) {
  progress.clear();
  std::fprintf(stderr, "mpc: %s: %s\n", kind, text.c_str());
}

//===----------------------------------------------------------------------===//
// While training
//===----------------------------------------------------------------------===//

void TrainConsole::begin() { signals.emplace(); }

const char *TrainConsole::stopReason() const {
  return signals ? signals->received() : nullptr;
}

void TrainConsole::plan(uint64_t before, uint64_t last) {
  if (console.profile.file.empty())
    return;
  profiler.emplace(console.profile,
                   std::vector<InputFile>{{"the package", training.package},
                                          {"the data", training.data.path},
                                          {"the data", training.evalData}});
  profiler->plan(before, last);
}

bool TrainConsole::isBoundary(uint64_t step) const {
  return profiler && profiler->isBoundary(step);
}

void TrainConsole::reach(Session &session, uint64_t step) {
  if (profiler)
    profiler->reach(session, program, step);
}

void TrainConsole::beginEvaluation(Session &session) {
  if (profiler)
    profiler->pause(session);
}

void TrainConsole::endEvaluation(Session &session) {
  if (profiler)
    profiler->resume(session);
}

void TrainConsole::stepRow(const nlohmann::ordered_json &row) {
  if (std::puts(row.dump().c_str()) >= 0 || stopReason())
    return;
  std::string cause = std::strerror(errno);
  throw Failure(InputOutput,
                format("cannot write the output of step %llu: %s",
                       row["step"].get<unsigned long long>(), cause.c_str()));
}

void TrainConsole::evaluated(const Evaluation &,
                             const nlohmann::ordered_json &row) {
  if (console.json)
    std::puts(row.dump().c_str());
}

//===----------------------------------------------------------------------===//
// After training
//===----------------------------------------------------------------------===//

void TrainConsole::finishProfile(Trainer &trainer) {
  if (profiler)
    profiler->finish(trainer.currentSession(), training.session, console.json);
}

/// Prints the device and its kernels, unless the device is the default one,
/// with or without a remark ("cpu (no CUDA driver found ...").
void TrainConsole::printDevice(const Session &session) const {
  const std::string device = mpc_session_device(session.get());
  if (device.rfind(mpc::kernels::kDevices[0].name, 0) == 0)
    return;
  nlohmann::ordered_json json;
  json["device"] = device;
  json["kernels"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < mpc_session_num_kernels(session.get()); ++i) {
    mpc_kernel_info_t info = {};
    info.struct_size = sizeof(info);
    check(mpc_session_kernel_info(session.get(), i, &info), program.path);
    json["kernels"].push_back({{"kernel", info.kernel},
                               {"implementation", info.implementation},
                               {"entry", info.entry},
                               {"instruction", info.instruction},
                               {"calls", info.calls},
                               {"workspace_bytes", info.workspace_bytes}});
  }
  printJson(json);
}

ExitCode TrainConsole::finishStopped(Trainer &trainer) {
  progress.clear();
  auto step = static_cast<unsigned long long>(trainer.stepsDone());
  const char *reason = trainer.stopReason().c_str();
  if (training.checkpointDir.empty())
    throw Failure(Stopped, format("stopped by %s after step %llu; without "
                                  "--checkpoint-dir this run cannot be resumed",
                                  reason, step));
  finishProfile(trainer);
  std::fprintf(stderr,
               "mpc: stopped by %s after step %llu; wrote '%s'; run the same "
               "command with --resume to continue\n",
               reason, step, trainer.checkpoint().c_str());
  return Stopped;
}

ExitCode TrainConsole::finish(Trainer &trainer, bool isDone) {
  if (!isDone)
    return finishStopped(trainer);
  if (trainer.hasTrained())
    progress.finish(trainer.progressState());
  if (!console.json)
    std::printf("%s\n", trainer.summary().c_str());
  finishProfile(trainer);
  if (console.json)
    printDevice(trainer.currentSession());
  return Ok;
}
