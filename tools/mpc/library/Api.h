//===- Api.h - What the functions of libmpctrain share ----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LIBRARY_API_H
#define MPC_TOOLS_MPC_LIBRARY_API_H

#include "tools/mpc/base/Print.h"

#include "mpc/train.h"

#include <functional>
#include <string>

namespace mpc::tool {

/// Passes messages on to the handler of the user; drops them if there is none.
class MessageHandler : public MessageSink {
public:
  void set(mpc_message_handler_t function, void *argument) {
    handler = function;
    user = argument;
  }
  void send(mpc_message_kind_t kind, const std::string &text) const {
    if (handler)
      handler(user, kind, text.c_str());
  }

private:
  void receive(const char *kind, const std::string &text) override;

  mpc_message_handler_t handler = nullptr;
  void *user = nullptr;
};

/// Runs the body of a function of the API, whose messages go to `messages`, and
/// turns what it throws into a status.
mpc_status_t runApi(MessageSink &messages, const std::function<void()> &body);

/// Throws a Failure that names an argument if it is null.
void requireArgument(const void *argument, const char *name);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LIBRARY_API_H
