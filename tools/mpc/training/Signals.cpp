//===- Signals.cpp - Stopping at the end of a step ------------------------===//

#include "tools/mpc/training/Signals.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>

using namespace mpc::tool;

// A handler has no other way to reach anything.
static volatile std::sig_atomic_t receivedSignal = 0;
static struct sigaction previousInterrupt, previousTerminate, previousPipe,
    previousHangUp;

/// A step can take minutes: whoever sits there must see that the key arrived.
static void noteSignal(int number) {
  receivedSignal = number;
  if (number != SIGINT)
    return;
  constexpr char note[] =
      "\nmpc: stopping after this step; Ctrl-C again stops at once\n";
  int saved = errno;
  // Nothing can be done here if it fails.
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
  // Whoever read the log has gone: `mpc train --json | head`. It comes with
  // every write from then on.
  action.sa_flags = 0;
  sigaction(SIGPIPE, &action, &previousPipe);
  if (previousPipe.sa_handler == SIG_IGN)
    sigaction(SIGPIPE, &previousPipe, nullptr);
  // The terminal is gone; both the kernel and the shell may report it.
  // Whoever started the process with nohup wants it to go on.
  sigaction(SIGHUP, &action, &previousHangUp);
  if (previousHangUp.sa_handler == SIG_IGN)
    sigaction(SIGHUP, &previousHangUp, nullptr);
  // A shell starts background jobs with SIGINT ignored; leave it so.
  if (previousInterrupt.sa_handler == SIG_IGN)
    sigaction(SIGINT, &previousInterrupt, nullptr);
}

StopOnSignal::~StopOnSignal() {
  sigaction(SIGINT, &previousInterrupt, nullptr);
  sigaction(SIGTERM, &previousTerminate, nullptr);
  sigaction(SIGHUP, &previousHangUp, nullptr);
  // What is left in the buffers is still to be written, to nobody.
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
