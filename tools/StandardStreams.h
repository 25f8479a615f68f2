//===- StandardStreams.h - Reopen closed standard streams -------*- C++ -*-===//
#ifndef MPC_TOOLS_STANDARDSTREAMS_H
#define MPC_TOOLS_STANDARDSTREAMS_H

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <initializer_list>
#include <unistd.h>

namespace mpc {

/// Opens /dev/null as stdin, stdout or stderr if the caller closed that stream
/// (`mpc train ... >&-`). Otherwise the next file that is opened would get its
/// file descriptor, and messages would be written into that file. Call this
/// first in main.
inline void openStandardStreams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF)
      continue;
    // open() returns the lowest free descriptor, which is this one: lower ones
    // are open by now.
    if (open("/dev/null", O_RDWR) != stream)
      std::abort();
  }
}

} // namespace mpc

#endif // MPC_TOOLS_STANDARDSTREAMS_H
