#include "kernels/cuda/driver/library.h"

#include <dlfcn.h>

#include <cstring>

namespace mpc::cuda {

bool load_library(const char* file, const Symbol* symbols, size_t num_symbols,
                  std::string* error) {
  void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    // The loader's message usually starts with the file.
    std::string why = ::dlerror();
    const std::string prefix = std::string(file) + ": ";
    if (why.rfind(prefix, 0) == 0) why.erase(0, prefix.size());
    *error = "cannot load " + prefix + why;
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
