//===- StandardStreams.h - Streams that the caller closed -------*- C++ -*-===//
#ifndef MPC_TOOLS_STANDARDSTREAMS_H
#define MPC_TOOLS_STANDARDSTREAMS_H

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace mpc {

/// Opens /dev/null in the place of stdin, stdout and stderr where the caller
/// closed them (`mpc train ... >&-`). Otherwise the next file that is opened
/// would take that place, and messages would be written into it. To be called
/// first in main.
inline void openStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF)
      continue;
    // The lowest free number is this one: those below are open by now.
    if (open("/dev/null", O_RDWR) != stream)
      std::abort();
  }
}

} // namespace mpc

#endif // MPC_TOOLS_STANDARDSTREAMS_H
