// Messages by MPI, which is loaded at run time. There are two ABIs, that of
// Open MPI and that of MPICH (https://www.mpich.org/abi), which Intel MPI, Cray
// MPICH and MVAPICH share. Few functions are needed: sends and receives that do
// not block, so that waiting has a limit.

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/src/base/guard.h"
#include "runtime/src/ranks/exchange.h"
#include "runtime/src/ranks/launcher.h"

namespace mpc::runtime {

namespace {

constexpr int kSerialized = 2;  // MPI_THREAD_SERIALIZED in both ABIs.
constexpr int kTag = 7341;
constexpr size_t kPlaceSize = 256;

// A loaded library, which stays loaded: MPI does not support otherwise.
struct Library {
  void* handle = nullptr;
  std::string name;

  void* find(const char* symbol) const { return ::dlsym(handle, symbol); }
};

// MPI can be initialized once in a process, so the communicators share it.
struct Initialization {
  std::mutex mutex;
  size_t communicators = 0;  // That are open.
  bool is_own = false;       // Not by the program, so the last one finalizes.
};
Initialization initialization;

// The handles of Open MPI are addresses of its objects.
struct OpenMpiAbi {
  using Comm = void*;
  using Type = void*;
  using Request = void*;
  using Handler = void*;
  static constexpr const char* kMark = "ompi_mpi_comm_world";
  static Comm world(const Library& library) {
    return library.find("ompi_mpi_comm_world");
  }
  static Type byte(const Library& library) {
    return library.find("ompi_mpi_byte");
  }
  static Handler errors_return(const Library& library) {
    return library.find("ompi_mpi_errors_return");
  }
  static void* status_ignore() { return nullptr; }
};

// Those of MPICH are numbers.
struct MpichAbi {
  using Comm = int;
  using Type = int;
  using Request = int;
  using Handler = int;
  static Comm world(const Library&) { return 0x44000000; }
  static Type byte(const Library&) { return 0x4c00010d; }
  static Handler errors_return(const Library&) { return 0x54000001; }
  static void* status_ignore() { return reinterpret_cast<void*>(1); }
};

// With UCX over TCP, MPICH 4.0 sometimes waits forever in MPI_Finalize: a rank
// that has closed its connections waits for the launcher, and does not answer
// those that are closing theirs. After this time the process may end without
// it.
constexpr std::chrono::seconds kFinalizeTime(5);

// Ends the process before the exit handlers of MPI's libraries, which a thread
// still uses.
void leave(int status, void*) {
  std::fflush(nullptr);
  ::_exit(status);
}

void finalize_for_a_while(int (*finalize)()) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
  };
  auto state = std::make_shared<State>();
  try {
    std::thread([state, finalize] {
      (void)finalize();
      std::lock_guard<std::mutex> lock(state->mutex);
      state->is_done = true;
      state->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    (void)finalize();
    return;
  }
  std::unique_lock<std::mutex> lock(state->mutex);
  if (!state->changed.wait_for(lock, kFinalizeTime,
                               [&] { return state->is_done; }))
    (void)::on_exit(leave, nullptr);
}

template <typename Abi>
class Mpi final : public Transport {
 public:
  explicit Mpi(Library library) : library_(std::move(library)) {}
  mpc_status_t open();
  uint32_t rank() const override { return static_cast<uint32_t>(rank_); }
  uint32_t size() const override { return static_cast<uint32_t>(size_); }
  bool any_thread() const override { return thread_level_ >= kSerialized; }
  mpc_status_t start(size_t slot, const Message& message) override;
  mpc_status_t test(size_t slot, bool* out_done) override;
  std::string place(uint32_t rank) const override {
    return rank < places_.size() ? places_[rank] : "";
  }
  void abort(const char* reason) override;
  void close(bool in_order) override {
    std::lock_guard<std::mutex> lock(initialization.mutex);
    if (!std::exchange(is_open_, false)) return;
    if (--initialization.communicators == 0 &&
        std::exchange(initialization.is_own, false) && in_order)
      finalize_for_a_while(finalize_);
  }
  void set_places(std::vector<std::string> places) {
    places_ = std::move(places);
  }
  std::string own_place() const;

 private:
  template <typename Function>
  bool load(Function* function, const char* name) {
    *function = reinterpret_cast<Function>(library_.find(name));
    return *function != nullptr;
  }
  mpc_status_t failed(const char* what, int error) const {
    return mpc_status_make(MPC_RANK_LOST, "%s of %s failed with error %d", what,
                           library_.name.c_str(), error);
  }

  using Comm = typename Abi::Comm;
  using Request = typename Abi::Request;

  const Library library_;
  int (*initialized_)(int*) = nullptr;
  int (*finalized_)(int*) = nullptr;
  int (*init_)(int*, char***, int, int*) = nullptr;
  int (*query_thread_)(int*) = nullptr;
  int (*finalize_)() = nullptr;
  int (*comm_rank_)(Comm, int*) = nullptr;
  int (*comm_size_)(Comm, int*) = nullptr;
  int (*comm_dup_)(Comm, Comm*) = nullptr;
  int (*set_errhandler_)(Comm, typename Abi::Handler) = nullptr;
  int (*processor_name_)(char*, int*) = nullptr;
  int (*isend_)(const void*, int, typename Abi::Type, int, int, Comm,
                Request*) = nullptr;
  int (*irecv_)(void*, int, typename Abi::Type, int, int, Comm,
                Request*) = nullptr;
  int (*test_)(Request*, int*, void*) = nullptr;
  int (*abort_)(Comm, int) = nullptr;
  bool is_open_ = false;
  int thread_level_ = 0;
  Comm comm_ = {};
  int rank_ = 0, size_ = 1;
  std::vector<Request> requests_;
  std::vector<std::string> places_;
};

template <typename Abi>
mpc_status_t Mpi<Abi>::open() {
  if (!load(&initialized_, "MPI_Initialized") ||
      !load(&finalized_, "MPI_Finalized") || !load(&init_, "MPI_Init_thread") ||
      !load(&query_thread_, "MPI_Query_thread") ||
      !load(&finalize_, "MPI_Finalize") ||
      !load(&comm_rank_, "MPI_Comm_rank") ||
      !load(&comm_size_, "MPI_Comm_size") ||
      !load(&comm_dup_, "MPI_Comm_dup") ||
      !load(&set_errhandler_, "MPI_Comm_set_errhandler") ||
      !load(&processor_name_, "MPI_Get_processor_name") ||
      !load(&isend_, "MPI_Isend") || !load(&irecv_, "MPI_Irecv") ||
      !load(&test_, "MPI_Test") || !load(&abort_, "MPI_Abort"))
    return mpc_status_make(MPC_UNAVAILABLE, "'%s' lacks functions of MPI",
                           library_.name.c_str());
  std::lock_guard<std::mutex> lock(initialization.mutex);
  int is_initialized = 0, is_finalized = 0;
  int error = initialized_(&is_initialized);
  if (!error) error = finalized_(&is_finalized);
  if (!error && is_finalized)
    return mpc_status_make(
        MPC_UNAVAILABLE,
        "'%s' has been finalized, as it is when the last communicator is "
        "closed, and cannot be initialized again; keep one open",
        library_.name.c_str());
  if (!error && !is_initialized) {
    error = init_(nullptr, nullptr, kSerialized, &thread_level_);
    initialization.is_own = error == 0;
  } else if (!error) {
    error = query_thread_(&thread_level_);
  }
  is_open_ = error == 0;
  initialization.communicators += is_open_;
  // A communicator of our own: messages of the program cannot meet ours.
  if (!error) error = comm_dup_(Abi::world(library_), &comm_);
  if (!error) error = set_errhandler_(comm_, Abi::errors_return(library_));
  if (!error) error = comm_rank_(comm_, &rank_);
  if (!error) error = comm_size_(comm_, &size_);
  if (error)
    return mpc_status_make(MPC_UNAVAILABLE,
                           "'%s' cannot be initialized (error %d)",
                           library_.name.c_str(), error);
  const uint32_t launched = mpc_launched_ranks(nullptr);
  if (size_ == 1 && launched > 1)
    return mpc_status_make(
        MPC_UNAVAILABLE,
        "%u processes were launched, but each is alone for '%s', which belongs "
        "to another MPI than the launcher; set MPC_MPI_LIBRARY to the "
        "launcher's",
        launched, library_.name.c_str());
  return nullptr;
}

template <typename Abi>
mpc_status_t Mpi<Abi>::start(size_t slot, const Message& message) {
  if (slot >= requests_.size()) requests_.resize(slot + 1);
  const int bytes = static_cast<int>(message.bytes);
  const int peer = static_cast<int>(message.peer);
  const int error = message.sends
                        ? isend_(message.data, bytes, Abi::byte(library_), peer,
                                 kTag, comm_, &requests_[slot])
                        : irecv_(message.data, bytes, Abi::byte(library_), peer,
                                 kTag, comm_, &requests_[slot]);
  return error ? failed(message.sends ? "MPI_Isend" : "MPI_Irecv", error)
               : nullptr;
}

template <typename Abi>
mpc_status_t Mpi<Abi>::test(size_t slot, bool* out_done) {
  int done = 0;
  const int error = test_(&requests_[slot], &done, Abi::status_ignore());
  *out_done = done != 0;
  return error ? failed("MPI_Test", error) : nullptr;
}

template <typename Abi>
void Mpi<Abi>::abort(const char* reason) {
  (void)reason;  // The caller has printed it.
  (void)abort_(comm_, 9);
}

template <typename Abi>
std::string Mpi<Abi>::own_place() const {
  char name[kPlaceSize] = {};
  int length = 0;
  if (processor_name_(name, &length) != 0) return "";
  return std::string(name, static_cast<size_t>(length));
}

// Candidates in the order in which they are tried.
std::vector<std::string> library_names() {
  if (const char* given = std::getenv("MPC_MPI_LIBRARY"))
    if (*given) return {given};
  if (is_launched_by_open_mpi())
    return {"libmpi.so.40", "libmpi.so.80", "libmpi.so"};
  return {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40", "libmpi.so"};
}

mpc_status_t load_library(Library* out) {
  // The program may have MPI already.
  if (::dlsym(RTLD_DEFAULT, "MPI_Init_thread")) {
    *out = {RTLD_DEFAULT, "the program's MPI"};
    return nullptr;
  }
  std::string tried;
  for (const std::string& name : library_names()) {
    // Open MPI's plugins find its symbols only if they are global.
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      *out = {handle, name};
      return nullptr;
    }
    const char* why = ::dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(why ? why : name);
  }
  return mpc_status_make(
      MPC_UNAVAILABLE,
      "cannot load MPI, which several ranks need: %s; install Open MPI or "
      "MPICH, or set MPC_MPI_LIBRARY to its library",
      tried.c_str());
}

// A communicator and what it consists of.
struct Opened : mpc_communicator_t {
  ~Opened() {
    if (exchange) exchange->close();
  }
  std::unique_ptr<Exchange> exchange;
};

template <typename Abi>
mpc_status_t open_mpi(Library library, uint32_t timeout_seconds,
                      Opened* opened) {
  auto transport = std::make_unique<Mpi<Abi>>(std::move(library));
  Mpi<Abi>& mpi = *transport;
  if (mpc_status_t status = mpi.open()) {
    mpi.close(/*in_order=*/true);
    return status;
  }
  opened->exchange =
      std::make_unique<Exchange>(std::move(transport), timeout_seconds);
  static_cast<mpc_communicator_t&>(*opened) = opened->exchange->communicator();
  // Who is where, for messages about ranks that are gone.
  std::vector<char> places(mpi.size() * kPlaceSize);
  std::snprintf(&places[mpi.rank() * kPlaceSize], kPlaceSize, "%s",
                mpi.own_place().c_str());
  std::vector<uint64_t> offsets;
  for (uint32_t i = 0; i <= mpi.size(); ++i) offsets.push_back(i * kPlaceSize);
  MPC_RETURN_IF_ERROR(
      opened->exchange->all_gather(places.data(), offsets.data()));
  std::vector<std::string> names;
  for (uint32_t i = 0; i < mpi.size(); ++i)
    names.emplace_back(&places[i * kPlaceSize]);
  mpi.set_places(std::move(names));
  return nullptr;
}

mpc_status_t open_communicator(uint32_t timeout_seconds,
                               mpc_communicator_t** out) {
  if (timeout_seconds == 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the timeout must be at least 1 s");
  Library library;
  MPC_RETURN_IF_ERROR(load_library(&library));
  auto opened = std::make_unique<Opened>();
  if (library.find(OpenMpiAbi::kMark))
    MPC_RETURN_IF_ERROR(open_mpi<OpenMpiAbi>(std::move(library),
                                             timeout_seconds, opened.get()));
  else
    MPC_RETURN_IF_ERROR(
        open_mpi<MpichAbi>(std::move(library), timeout_seconds, opened.get()));
  *out = opened.release();
  return nullptr;
}

}  // namespace

}  // namespace mpc::runtime

using namespace mpc::runtime;

mpc_status_t mpc_communicator_open(uint32_t timeout_seconds,
                                   mpc_communicator_t** out) {
  if (!out) return mpc_status_make(MPC_INVALID_ARGUMENT, "an argument is NULL");
  return guard([&] { return open_communicator(timeout_seconds, out); });
}

void mpc_communicator_close(mpc_communicator_t* communicator) {
  delete static_cast<Opened*>(communicator);
}
