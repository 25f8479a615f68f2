//===- Api.cpp - What the functions of libmpctrain share ------------------===//

#include "tools/mpc/library/Api.h"
#include "tools/mpc/base/Runtime.h"

#include <cstring>
#include <locale.h>
#include <new>

using namespace mpc::tool;

void MessageHandler::receive(const char *kind, const std::string &text) {
  send(std::strcmp(kind, "note") == 0 ? MPC_MESSAGE_NOTE : MPC_MESSAGE_WARNING,
       text);
}

static mpc_code_t codeOf(ExitCode exitCode) {
  switch (exitCode) {
  case Usage:
  case InvalidModel:
    return MPC_INVALID_ARGUMENT;
  case InputOutput:
    return MPC_IO;
  case Damaged:
    return MPC_DAMAGED;
  case Numeric:
    return MPC_NUMERIC;
  case Limit:
    return MPC_OUT_OF_MEMORY;
  case NoDevice:
    return MPC_UNAVAILABLE;
  case RankLost:
    return MPC_RANK_LOST;
  case Ok:
  case Error:
  case Stopped:
    break;
  }
  return MPC_INTERNAL;
}

static mpc_status_t makeStatus(mpc_code_t code, const char *text) {
  return mpc_status_make(code, "%s", printable(withFlags(text)).c_str());
}

namespace {
/// While an object exists, this thread reads and writes numbers with a decimal
/// point, whatever the locale of the program: checkpoints and logs depend on
/// it.
class DecimalPoint {
public:
  DecimalPoint()
      : own(newlocale(LC_NUMERIC_MASK, "C", duplocale(uselocale(nullptr)))),
        previous(uselocale(own)) {}
  DecimalPoint(const DecimalPoint &) = delete;
  DecimalPoint &operator=(const DecimalPoint &) = delete;
  ~DecimalPoint() {
    uselocale(previous);
    if (own)
      freelocale(own);
  }

private:
  const locale_t own, previous;
};
} // namespace

mpc_status_t mpc::tool::runApi(MessageSink &messages,
                               const std::function<void()> &body) {
  try {
    DecimalPoint point;
    MessagesTo scope(messages);
    body();
    return nullptr;
  } catch (const RuntimeFailure &failure) {
    return makeStatus(failure.code, failure.what());
  } catch (const Failure &failure) {
    return makeStatus(codeOf(failure.exitCode), failure.what());
  } catch (const std::bad_alloc &) {
    return mpc_status_make(MPC_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception &unexpected) {
    return mpc_status_make(MPC_INTERNAL, "internal error: %s",
                           unexpected.what());
  } catch (...) {
    return mpc_status_make(MPC_INTERNAL, "internal error");
  }
}

void mpc::tool::requireArgument(const void *argument, const char *name) {
  if (!argument)
    throw Failure(Usage, std::string("argument '") + name + "' is NULL");
}
