//===- Signals.cpp - Stop at the end of a step ----------------------------===//

#include "tools/mpc/training/console/Signals.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace mpc::tool;

// A signal handler can only access global variables.
static volatile std::sig_atomic_t receivedSignal = 0;
static struct sigaction previousInterrupt, previousTerminate, previousPipe,
    previousHangUp;

/// Records the signal and, for SIGINT, prints a note: a step can take minutes,
/// and users must see that the key press was received.
static void noteSignal(int number) {
  receivedSignal = number;
  if (number != SIGINT)
    return;
  constexpr char note[] =
      "\nmpc: stopping after this step; Ctrl-C again stops at once\n";
  int saved = errno;
  // A failure cannot be handled here.
  ssize_t written = write(STDERR_FILENO, note, std::strlen(note));
  (void)written;
  errno = saved;
}

StopOnSignal::StopOnSignal() {
  receivedSignal = 0;
  struct sigaction action = {};
  action.sa_handler = noteSignal;
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &previousInterrupt);
  sigaction(SIGTERM, &action, &previousTerminate);
  // The reader of the log has exited, as in `mpc train --json | head`. Every
  // later write raises the signal again.
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, &previousPipe);
  if (previousPipe.sa_handler == SIG_IGN)
    sigaction(SIGPIPE, &previousPipe, nullptr);
  // The terminal is gone; both the kernel and the shell may report it. A
  // process that was started with nohup continues.
  sigaction(SIGHUP, &action, &previousHangUp);
  if (previousHangUp.sa_handler == SIG_IGN)
    sigaction(SIGHUP, &previousHangUp, nullptr);
  // A shell starts background jobs with SIGINT ignored; keep it ignored.
  if (previousInterrupt.sa_handler == SIG_IGN)
    sigaction(SIGINT, &previousInterrupt, nullptr);
}

StopOnSignal::~StopOnSignal() {
  sigaction(SIGINT, &previousInterrupt, nullptr);
  sigaction(SIGTERM, &previousTerminate, nullptr);
  sigaction(SIGHUP, &previousHangUp, nullptr);
  // Buffers that still have to be flushed would raise the signal again.
  if (receivedSignal == SIGPIPE)
    std::signal(SIGPIPE, SIG_IGN);
  else
    sigaction(SIGPIPE, &previousPipe, nullptr);
}

const char *StopOnSignal::received() const {
  switch (receivedSignal) {
  case SIGINT:
    return "SIGINT";
  case SIGTERM:
    return "SIGTERM";
  case SIGPIPE:
    return "SIGPIPE";
  case SIGHUP:
    return "SIGHUP";
  }
  return nullptr;
}
