#include "runtime/src/device/cpu/cpu_count.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace mpc::runtime {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

// "/system.slice/job" from the line "0::/system.slice/job"; empty if there is
// no such line.
std::string own_group(const std::string& groups) {
  const File file(std::fopen(groups.c_str(), "re"));
  char line[4096];
  while (file && std::fgets(line, sizeof(line), file.get())) {
    const std::string text(line);
    if (text.rfind("0::/", 0) == 0)
      return text.substr(3, text.find_last_not_of('\n') - 2);
  }
  return "";
}

// The quota in CPUs; 0 if there is no limit ("max 100000").
double read_quota(const std::string& path) {
  const File file(std::fopen(path.c_str(), "re"));
  double quota, period;
  if (!file || std::fscanf(file.get(), "%lf %lf", &quota, &period) != 2 ||
      !(quota > 0) || !(period > 0))
    return 0;
  return quota / period;
}

}  // namespace

double cpu_quota(const std::string& groups, const std::string& mount) {
  double least = 0;
  std::string group = own_group(groups);
  // Visits the group and all its ancestors up to the root "", which in a
  // container is the group of the container.
  for (;;) {
    const double quota = read_quota(mount + group + "/cpu.max");
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (group.empty()) return least;
    group.erase(group.rfind('/'));
  }
}

int default_threads() {
  const int asked = omp_get_max_threads();
  if (std::getenv("OMP_NUM_THREADS")) return asked;
  // With thread binding, OpenMP uses the CPUs it counted when the process
  // started.
  int threads = omp_get_proc_bind() == omp_proc_bind_false
                    ? std::min(asked, omp_get_num_procs())
                    : asked;
  if (const double quota = cpu_quota(); quota > 0)
    threads = std::min(threads, static_cast<int>(std::lround(quota)));
  return std::max(1, threads);
}

int openmp_version() { return _OPENMP; }

}  // namespace mpc::runtime
