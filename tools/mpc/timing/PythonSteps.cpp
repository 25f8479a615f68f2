//===- PythonSteps.cpp - Training steps of PyTorch ------------------------===//

#include "tools/mpc/timing/PythonSteps.h"
#include "tools/mpc/base/Text.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpc::tool;

/// Answers each line "COUNT" with the nanoseconds of COUNT steps.
static constexpr char kWorker[] = R"(
import contextlib, importlib.util, sys, time
import torch

path, mode, precision, threads = sys.argv[1:]
torch.set_num_threads(int(threads))
torch.manual_seed(0)
spec = importlib.util.spec_from_file_location("against", path)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
module, loss_function, batch = script.make()
*inputs, target = batch
module.train()
optimizer = torch.optim.AdamW(module.parameters(), fused=True)

def compute_loss():
    with torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext():
        return loss_function(module(*inputs), target)

if mode == "compile":
    compute_loss = torch.compile(compute_loss)

def step():
    optimizer.zero_grad()
    compute_loss().backward()
    optimizer.step()

for _ in range(3):
    step()
print("ready", flush=True)
for line in sys.stdin:
    times = [time.perf_counter_ns()]
    for _ in range(int(line)):
        step()
        times.append(time.perf_counter_ns())
    print(*(b - a for a, b in zip(times, times[1:])), flush=True)
)";

/// Throws a Failure if a call that returns an error number failed.
static void checkCall(int error, const std::string &what) {
  if (error != 0)
    throw Failure(InputOutput,
                  "cannot run '" + what + "': " + std::strerror(error));
}

PythonSteps::PythonSteps(const PythonSettings &settings,
                         const std::string &mode)
    : settings(settings), mode(mode) {
  // A process that has ended must be an error of a call, not of this process.
  std::signal(SIGPIPE, SIG_IGN);
  int input[2], output[2];
  checkCall(::pipe2(input, O_CLOEXEC) == 0 ? 0 : errno, settings.python);
  toProcess = ::fdopen(input[1], "w");
  checkCall(::pipe2(output, O_CLOEXEC) == 0 ? 0 : errno, settings.python);
  fromProcess = ::fdopen(output[0], "r");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  std::vector<std::string> words = {settings.python,
                                    "-c",
                                    kWorker,
                                    settings.script,
                                    mode,
                                    settings.precision,
                                    std::to_string(settings.threads)};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const int error = ::posix_spawnp(&process, settings.python.c_str(), &actions,
                                   nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(input[0]);
  ::close(output[1]);
  if (error != 0)
    process = -1;
  try {
    checkCall(error, settings.python);
    // The script may print lines of its own.
    while (readLine() != "ready\n") {
    }
  } catch (...) {
    end();
    throw;
  }
}

PythonSteps::~PythonSteps() { end(); }

void PythonSteps::end() {
  // The process ends when its input does.
  if (toProcess)
    std::fclose(toProcess);
  if (fromProcess)
    std::fclose(fromProcess);
  if (process > 0)
    (void)::waitpid(process, nullptr, 0);
}

std::string PythonSteps::readLine() {
  std::string line;
  for (int c; (c = std::fgetc(fromProcess)) != EOF;) {
    line += char(c);
    if (c == '\n')
      return line;
  }
  throw Failure(Usage, settings.script + " failed with PyTorch (" + mode +
                           "); see the message of " + settings.python +
                           " above");
}

void PythonSteps::run(uint64_t count, StepTimes &times) {
  std::fprintf(toProcess, "%llu\n", static_cast<unsigned long long>(count));
  std::fflush(toProcess);
  // Lines that the script prints are not only numbers.
  for (;;) {
    std::istringstream numbers(readLine());
    std::vector<double> read;
    for (double ns; numbers >> ns;)
      read.push_back(ns);
    if (read.size() != count || !numbers.eof())
      continue;
    for (double ns : read)
      times.add(ns * 1e-9);
    return;
  }
}
