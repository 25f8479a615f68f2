/* The header is valid C99. */

#include "mpc/compiler.h"

mpc_status_t compile_with_defaults(const char *model, mpc_compilation_t **out);
mpc_status_t compile_with_defaults(const char *model, mpc_compilation_t **out) {
  return mpc_compile(model, NULL, NULL, out);
}
