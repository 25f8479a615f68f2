// Named values of the caller.

#include <cstring>

#include "runtime/src/base/guard.h"
#include "runtime/src/base/number.h"
#include "runtime/src/session/session.h"

using namespace mpc::runtime;

mpc_status_t mpc_session_set_property(mpc_session_t* session, const char* name,
                                      const char* value) {
  if (!session || !name)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  if (!is_utf8(name, std::strlen(name)) ||
      (value && !is_utf8(value, std::strlen(value))))
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "names and values of properties must be UTF-8");
  return guard([&]() -> mpc_status_t {
    if (value)
      session->properties[name] = value;
    else
      session->properties.erase(name);
    return nullptr;
  });
}

const char* mpc_session_get_property(const mpc_session_t* session,
                                     const char* name) {
  if (!session || !name) return nullptr;
  // Not find(name), which allocates: this function cannot report a failure.
  for (const auto& [key, value] : session->properties)
    if (key == name) return value.c_str();
  return nullptr;
}
