#include "python/runtime/src/torch_threads.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace mpc::python {

// PyTorch brings its own OpenMP runtime: GCC's, LLVM's or Intel's. All of them
// export these functions, through which GCC's code starts regions.
struct OpenMp {
  void (*parallel)(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags) = nullptr;
  int (*thread_num)() = nullptr;
  int (*num_threads)() = nullptr;

  // Looks in the library and in those that it needs.
  explicit OpenMp(void *library) {
    if (!library) return;
    find(library, "GOMP_parallel", parallel);
    find(library, "omp_get_thread_num", thread_num);
    find(library, "omp_get_num_threads", num_threads);
  }
  bool found() const { return parallel && thread_num && num_threads; }

 private:
  template <typename Function>
  static void find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
  }
};

// A region of one call of the pool.
struct Region {
  const OpenMp &openmp;
  void (*body)(void *data, uint32_t number, uint32_t count);
  void *data;
};

static void run_part(void *data) {
  const Region &region = *static_cast<const Region *>(data);
  region.body(region.data, static_cast<uint32_t>(region.openmp.thread_num()),
              static_cast<uint32_t>(region.openmp.num_threads()));
}

static void run_region(void *user, uint32_t threads,
                       void (*body)(void *data, uint32_t number,
                                    uint32_t count),
                       void *data) {
  const OpenMp &openmp = *static_cast<const OpenMp *>(user);
  Region region = {openmp, body, data};
  openmp.parallel(run_part, &region, threads, 0);
}

static int open_torch(dl_phdr_info *info, size_t, void *library) {
  if (!std::strstr(info->dlpi_name, "/libtorch_cpu.so")) return 0;
  // It is loaded already, and never unloaded.
  *static_cast<void **>(library) =
      dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  return 1;
}

static void *find_torch() {
  void *library = nullptr;
  dl_iterate_phdr(open_torch, &library);
  return library;
}

const mpc_thread_pool_t *torch_threads() {
  static OpenMp openmp(find_torch());
  static const mpc_thread_pool_t pool = {&openmp, run_region};
  return openmp.found() ? &pool : nullptr;
}

}  // namespace mpc::python
