// A folder of checkpoints "step-1000": loading the newest complete one, and
// removing old ones.

#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "runtime/src/base/byte_text.h"
#include "runtime/src/base/guard.h"
#include "runtime/src/base/json.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

namespace {

constexpr const char* kFiles[] = {kManifestFile, kStateFile, kOptimizerFile,
                                  kModelFile};
constexpr time_t kStaleSeconds = 3600;

uint64_t random_number() {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), 0) != sizeof(number)) {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    number =
        static_cast<uint64_t>(now.tv_nsec) ^ reinterpret_cast<uintptr_t>(&now);
  }
  return number;
}

// Identifies this machine among those that may share a file system.
std::string host_mark() {
  char name[256] = {};
  (void)::gethostname(name, sizeof(name) - 1);
  return hex_of(checksum(name, std::strlen(name))).substr(0, 8);
}

// What a name means: a checkpoint, one moved aside, an unfinished one.
enum class Kind { kWhole, kOld, kTemporary };

struct Candidate {
  std::string name;
  Kind kind;
  bool is_best;          // "best": kept beside the checkpoints of steps.
  uint64_t step;         // 0 for the best one.
  uint64_t process = 0;  // The writer of an old or temporary one, and its host.
  std::string host;
};

bool all_digits(const std::string& text) {
  return !text.empty() && text.size() <= 18 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

// Parses "step-1000" and "step-1000.tmp-<pid>-<host>-<random>", or the same
// with "best". If a name has several such suffixes, because it was moved aside
// more than once, the last one counts.
bool parse_candidate(const std::string& name, Candidate* out) {
  size_t dot = name.find('.');
  const std::string stem = name.substr(0, dot);
  std::string step = "0";
  out->is_best = stem == "best";
  if (!out->is_best) {
    if (stem.compare(0, 5, "step-") != 0) return false;
    step = stem.substr(5);
    if (!all_digits(step)) return false;
  }
  out->name = name;
  out->step = std::strtoull(step.c_str(), nullptr, 10);
  out->kind = Kind::kWhole;
  if (dot == std::string::npos) return true;

  std::string rest = name.substr(name.rfind('.') + 1);
  std::string parts[4];
  for (std::string& part : parts) {
    size_t dash = rest.find('-');
    part = rest.substr(0, dash);
    rest = dash == std::string::npos ? "" : rest.substr(dash + 1);
  }
  uint64_t random;
  if ((parts[0] != "tmp" && parts[0] != "old") || !all_digits(parts[1]) ||
      parts[2].size() != 8 || !parse_hex(parts[3], &random) || !rest.empty())
    return false;
  out->kind = parts[0] == "tmp" ? Kind::kTemporary : Kind::kOld;
  out->process = std::strtoull(parts[1].c_str(), nullptr, 10);
  out->host = parts[2];
  return true;
}

// Whether `path` is a folder and not a link. Saving makes no links, so neither
// a link nor its target is ours.
bool is_real_folder(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Whether `path` is a folder or a link to one. True if that cannot be
// determined.
bool is_folder(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) return S_ISDIR(info.st_mode);
  return errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
}

mpc_status_t newest_unreadable(mpc_status_t status) {
  mpc_status_t explained = mpc_status_make(
      MPC_IO,
      "%s; the newest checkpoint may be intact: make it readable, or move it "
      "away to load an older one",
      mpc_status_message(status));
  mpc_status_free(status);
  return explained;
}

// Everything in the folder whose name can come from saving, newest first; for
// the same step, the one that was not moved aside first. Without the best one
// unless `with_best`.
int list_candidates(Files& files, const std::string& folder,
                    std::vector<Candidate>* out, bool with_best = false) {
  std::vector<std::string> names;
  int result = files.list(folder.c_str(), &names);
  if (result < 0) return result;
  for (const std::string& name : names) {
    Candidate candidate;
    if (parse_candidate(name, &candidate) && (with_best || !candidate.is_best))
      out->push_back(std::move(candidate));
  }
  std::sort(out->begin(), out->end(),
            [](const Candidate& a, const Candidate& b) {
              if (a.step != b.step) return a.step > b.step;
              return a.kind != b.kind ? a.kind < b.kind : a.name < b.name;
            });
  return 0;
}

// Whether a process of this machine is gone. A zombie counts as gone: it was
// killed and its parent has not waited for it yet, but it writes nothing.
bool is_gone(uint64_t process) {
  if (process == 0 || process > INT32_MAX) return false;
  if (::kill(static_cast<pid_t>(process), 0) != 0) return errno == ESRCH;
  std::string path = "/proc/" + std::to_string(process) + "/stat";
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return false;
  char room[256];
  std::string text(room, std::fread(room, 1, sizeof(room), file));
  std::fclose(file);
  // "42 (name) Z ...": the name may contain parentheses.
  size_t end = text.rfind(')');
  return end != std::string::npos && text.compare(end, 3, ") Z") == 0;
}

// Whether no process can still be writing a temporary folder: its process is
// gone, or nothing in the folder has changed for an hour (processes of other
// machines cannot be checked).
bool is_stale(Files& files, const std::string& path,
              const Candidate& candidate) {
  if (candidate.host == host_mark() && is_gone(candidate.process)) return true;
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0) return false;
  time_t newest = info.st_mtime;
  std::vector<std::string> names;
  (void)files.list(path.c_str(), &names);
  for (const std::string& name : names)
    if (::lstat((path + '/' + name).c_str(), &info) == 0)
      newest = std::max(newest, info.st_mtime);
  return ::time(nullptr) - newest > kStaleSeconds;
}

// Removes the remains of a save or removal, unless it may still be running.
void remove_leftover(Files& files, const std::string& path,
                     const Candidate& candidate) {
  if (candidate.kind == Kind::kTemporary && is_real_folder(path) &&
      is_stale(files, path, candidate) && is_checkpoint_folder(files, path))
    (void)remove_checkpoint(files, path);
}

// Removes a checkpoint. Renames it first, so that a crash midway leaves no
// incomplete checkpoint under its name.
mpc_status_t discard(Files& files, const std::string& path) {
  // Keep folders that contain other files.
  if (!is_checkpoint_folder(files, path)) return nullptr;
  std::string aside = unique_sibling_name(path, "tmp");
  int result = files.rename(path.c_str(), aside.c_str(), 0);
  if (result == 0) result = remove_checkpoint(files, aside);
  return result < 0 && result != -ENOENT ? io_error("remove", path, result)
                                         : nullptr;
}

}  // namespace

std::string unique_sibling_name(const std::string& path, const char* kind) {
  return path + '.' + kind + '-' + std::to_string(::getpid()) + '-' +
         host_mark() + '-' + hex_of(random_number());
}

int remove_checkpoint(Files& files, const std::string& path) {
  if (!is_real_folder(path)) return -ENOTDIR;
  int first = 0;
  for (const char* name : kFiles) {
    int result = files.remove_file((path + '/' + name).c_str());
    if (result < 0 && result != -ENOENT && first == 0) first = result;
  }
  int result = files.remove_folder(path.c_str());
  return first != 0 || result == -ENOENT ? first : result;
}

bool is_checkpoint_folder(Files& files, const std::string& path) {
  if (!is_real_folder(path)) return false;
  std::vector<std::string> names;
  if (files.list(path.c_str(), &names) < 0) return false;
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return std::find(std::begin(kFiles), std::end(kFiles), name) !=
           std::end(kFiles);
  });
}

mpc_status_t load_latest(mpc_session_t* session, const std::string& folder,
                         std::string* out_path, std::string* out_warning,
                         std::string* out_mismatch) {
  std::vector<Candidate> candidates;
  int result = list_candidates(*session->files, folder, &candidates);
  if (result == -ENOENT) return nullptr;
  if (result < 0) return io_error("read", folder, result);
  std::string warning;
  for (const Candidate& candidate : candidates) {
    if (candidate.kind == Kind::kTemporary) continue;
    std::string path = folder + '/' + candidate.name;
    mpc_status_t status = load_checkpoint(session, path, out_mismatch);
    if (!status) {
      *out_path = std::move(path);
      *out_warning = std::move(warning);
      return nullptr;
    }
    mpc_code_t code = mpc_status_code(status);
    // A checkpoint that cannot be read now may be readable later. Loading an
    // older one would silently discard the training since.
    if (code == MPC_IO && is_folder(path)) return newest_unreadable(status);
    if (code != MPC_DAMAGED && code != MPC_IO) return status;
    if (!warning.empty()) warning += "; ";
    warning += mpc_status_message(status);
    mpc_status_free(status);
  }
  if (warning.empty()) return nullptr;
  return mpc_status_make(MPC_DAMAGED, "no checkpoint in '%s' is complete: %s",
                         folder.c_str(), warning.c_str());
}

mpc_status_t remove_leftovers(Files& files, const std::string& folder) {
  std::vector<Candidate> candidates;
  int result = list_candidates(files, folder, &candidates, true);
  if (result == -ENOENT) return nullptr;
  if (result < 0) return io_error("read", folder, result);
  for (const Candidate& candidate : candidates)
    remove_leftover(files, folder + '/' + candidate.name, candidate);
  return nullptr;
}

mpc_status_t prune(Files& files, const std::string& folder, size_t keep) {
  std::vector<Candidate> candidates;
  int result = list_candidates(files, folder, &candidates);
  if (result < 0) return io_error("read", folder, result);

  std::vector<std::string> doomed;
  uint64_t last_kept = UINT64_MAX;
  size_t kept = 0;
  for (const Candidate& candidate : candidates) {
    std::string path = folder + '/' + candidate.name;
    // A link to another run's checkpoint is neither counted nor removed.
    if (!is_real_folder(path)) continue;
    if (candidate.kind == Kind::kTemporary) {
      remove_leftover(files, path, candidate);
      continue;
    }
    if (kept < keep && candidate.step != last_kept) {
      uint64_t bytes;
      mpc_status_t status = verify_checkpoint(files, path, &bytes);
      if (!status) {
        last_kept = candidate.step;
        ++kept;
        continue;
      }
      mpc_code_t code = mpc_status_code(status);
      // A checkpoint that cannot be read now may be readable later.
      if (code != MPC_DAMAGED) return status;
      mpc_status_free(status);
    }
    doomed.push_back(std::move(path));
  }
  // Without a complete checkpoint, even a damaged one is better than none.
  if (kept == 0) return nullptr;
  for (const std::string& path : doomed)
    MPC_RETURN_IF_ERROR(discard(files, path));
  return nullptr;
}

// Makes copies that the caller owns, all or none; null for an empty text.
static mpc_status_t copy_strings(
    std::initializer_list<const std::string*> texts,
    std::initializer_list<char**> outs) {
  char** const* out = outs.begin();
  for (const std::string* text : texts) {
    **out = text->empty() ? nullptr : ::strdup(text->c_str());
    if (!text->empty() && !**out) {
      while (out != outs.begin()) std::free(**--out);
      return mpc_status_make(MPC_OUT_OF_MEMORY, "cannot allocate %s for a text",
                             ByteText(text->size() + 1).c_str());
    }
    ++out;
  }
  return nullptr;
}

}  // namespace mpc::runtime

using namespace mpc::runtime;

mpc_status_t mpc_session_load_latest(mpc_session_t* session, const char* folder,
                                     char** out_path, char** out_warning) {
  if (!session || !folder || !out_path || !out_warning)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&]() -> mpc_status_t {
    std::string path, warning;
    MPC_RETURN_IF_ERROR(load_latest(session, folder, &path, &warning));
    return copy_strings({&path, &warning}, {out_path, out_warning});
  });
}

mpc_status_t mpc_session_resume(mpc_session_t* session, const char* folder,
                                char** out_path, char** out_warning,
                                char** out_mismatch) {
  if (!session || !folder || !out_path || !out_warning || !out_mismatch)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&]() -> mpc_status_t {
    std::string path, warning, mismatch;
    MPC_RETURN_IF_ERROR(
        load_latest(session, folder, &path, &warning, &mismatch));
    return copy_strings({&path, &warning, &mismatch},
                        {out_path, out_warning, out_mismatch});
  });
}

mpc_status_t mpc_checkpoint_remove_leftovers(const char* folder) {
  if (!folder)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the folder is NULL");
  return guard([&] { return remove_leftovers(system_files(), folder); });
}

mpc_status_t mpc_checkpoint_prune(const char* folder, size_t keep) {
  if (!folder)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the folder is NULL");
  if (keep == 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "at least one checkpoint must be kept");
  return guard([&] { return prune(system_files(), folder, keep); });
}

void mpc_string_free(char* string) { std::free(string); }
