#include "kernels/cuda/driver/library.h"

#include <dlfcn.h>

#include <cstring>

namespace mpc::cuda {

bool load_library(const char* file, const Symbol* symbols, size_t num_symbols,
                  std::string* error) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    *error = std::string("cannot load ") + file + ": " + ::dlerror();
    return false;
  }
  for (size_t i = 0; i < num_symbols; ++i) {
    void* address = ::dlsym(library, symbols[i].name);
    if (!address) {
      *error = std::string(file) + " lacks the function " + symbols[i].name +
               ": it is older than what is needed";
      ::dlclose(library);
      return false;
    }
    std::memcpy(symbols[i].place, &address, sizeof(address));
  }
  return true;
}

}  // namespace mpc::cuda
