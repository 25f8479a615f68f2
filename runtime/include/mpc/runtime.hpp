// RAII wrappers of the C API. C++17, header only; functions return errors as
// mpc::Status.

#ifndef MPC_RUNTIME_HPP_
#define MPC_RUNTIME_HPP_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mpc/runtime.h"

namespace mpc {

// An owned status. Converts to true if it is an error, like mpc_status_t.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(mpc_status_t status) : status_(status) {}

  explicit operator bool() const { return status_ != nullptr; }
  mpc_code_t code() const { return mpc_status_code(status_.get()); }
  const char* message() const { return mpc_status_message(status_.get()); }
  mpc_status_t release() { return status_.release(); }

 private:
  struct Free {
    void operator()(mpc_status_t status) const { mpc_status_free(status); }
  };
  std::unique_ptr<mpc_status_s, Free> status_;
};

// A tensor in memory of the caller, which must outlive it. Owns its shape.
class Tensor {
 public:
  Tensor(mpc_dtype_t dtype, std::vector<int64_t> shape, void* data)
      : dtype_(dtype), shape_(std::move(shape)), data_(data) {}
  // Inputs are only read; the C struct serves both directions.
  Tensor(mpc_dtype_t dtype, std::vector<int64_t> shape, const void* data)
      : Tensor(dtype, std::move(shape), const_cast<void*>(data)) {}

  // States that the data is in the memory of CUDA device `index`.
  Tensor on_cuda(int index) && {
    device_ = {MPC_DEVICE_CUDA, index};
    return std::move(*this);
  }

  mpc_tensor_t get() const {
    return {sizeof(mpc_tensor_t), dtype_, static_cast<uint32_t>(shape_.size()),
            shape_.data(),        data_,  device_};
  }

 private:
  mpc_dtype_t dtype_;
  std::vector<int64_t> shape_;
  void* data_;
  mpc_device_t device_ = {MPC_DEVICE_HOST, 0};
};

class Program {
 public:
  Status load_file(const std::string& path) {
    mpc_program_t* program;
    mpc_status_t status = mpc_program_load_file(path.c_str(), &program);
    if (!status) program_.reset(program);
    return status;
  }
  Status load_memory(const void* data, size_t size) {
    mpc_program_t* program;
    mpc_status_t status = mpc_program_load_memory(data, size, &program);
    if (!status) program_.reset(program);
    return status;
  }

  bool has_entry(const char* entry) const {
    return mpc_program_has_entry(get(), entry) != 0;
  }
  std::vector<mpc_binding_info_t> inputs(const char* entry) const {
    return bindings(entry, mpc_program_num_inputs, mpc_program_input);
  }
  std::vector<mpc_binding_info_t> outputs(const char* entry) const {
    return bindings(entry, mpc_program_num_outputs, mpc_program_output);
  }
  // One, unless the program was compiled for several. See
  // mpc_program_batch_sizes.
  std::vector<uint64_t> batch_sizes(const char* entry) const {
    std::vector<uint64_t> sizes(
        mpc_program_batch_sizes(get(), entry, nullptr, 0));
    mpc_program_batch_sizes(get(), entry, sizes.data(), sizes.size());
    return sizes;
  }
  std::vector<mpc_state_info_t> states() const {
    std::vector<mpc_state_info_t> infos(mpc_program_num_states(get()));
    for (size_t i = 0; i < infos.size(); ++i) {
      infos[i].struct_size = sizeof(infos[i]);
      mpc_status_free(mpc_program_state(get(), i, &infos[i]));
    }
    return infos;
  }
  mpc_memory_info_t memory() const {
    mpc_memory_info_t info = {sizeof(info), 0, 0, 0};
    mpc_program_memory(get(), &info);
    return info;
  }
  // "" if unknown.
  std::string option(const char* name) const {
    const char* value = mpc_program_option(get(), name);
    return value ? value : "";
  }
  std::string report() const {
    size_t size;
    const char* text = mpc_program_report(get(), &size);
    return {text, size};
  }
  // The report for one kind of device; empty if the program has no code for it.
  std::string report(const char* device) const {
    size_t size;
    const char* text = mpc_program_device_report(get(), device, &size);
    return text ? std::string(text, size) : std::string();
  }
  const mpc_program_t* get() const { return program_.get(); }

 private:
  template <typename Count, typename Describe>
  std::vector<mpc_binding_info_t> bindings(const char* entry, Count count,
                                           Describe describe) const {
    std::vector<mpc_binding_info_t> infos(count(get(), entry));
    for (size_t i = 0; i < infos.size(); ++i) {
      infos[i].struct_size = sizeof(infos[i]);
      mpc_status_free(describe(get(), entry, i, &infos[i]));
    }
    return infos;
  }

  struct Destroy {
    void operator()(mpc_program_t* program) const {
      mpc_program_destroy(program);
    }
  };
  std::unique_ptr<mpc_program_t, Destroy> program_;
};

// Threads of the program for sessions, which it must outlive:
// options.thread_pool = pool.get().
class ThreadPool {
 public:
  using Body = std::function<void(uint32_t number, uint32_t count)>;
  // Calls `body` as mpc_thread_pool_t::run does. Throws nothing.
  using Run = std::function<void(uint32_t threads, const Body& body)>;

  explicit ThreadPool(Run run) : run_(std::move(run)) {}
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  const mpc_thread_pool_t* get() const { return &pool_; }

 private:
  static void call(void* user, uint32_t threads,
                   void (*body)(void* data, uint32_t number, uint32_t count),
                   void* data) {
    static_cast<ThreadPool*>(user)->run_(
        threads,
        [=](uint32_t number, uint32_t count) { body(data, number, count); });
  }

  Run run_;
  mpc_thread_pool_t pool_ = {this, call};
};

// All ranks that a launcher has started, for sessions, which it must outlive:
// options.communicator = communicator.get().
class Communicator {
 public:
  Status open(uint32_t timeout_seconds) {
    mpc_communicator_t* communicator;
    mpc_status_t status = mpc_communicator_open(timeout_seconds, &communicator);
    if (!status) communicator_.reset(communicator);
    return status;
  }
  // Only after open().
  uint32_t rank() const { return communicator_->rank; }
  uint32_t size() const { return communicator_->size; }
  // NULL before open().
  const mpc_communicator_t* get() const { return communicator_.get(); }

 private:
  struct Close {
    void operator()(mpc_communicator_t* communicator) const {
      mpc_communicator_close(communicator);
    }
  };
  std::unique_ptr<mpc_communicator_t, Close> communicator_;
};

class Session {
 public:
  // `program` must outlive the session.
  Status create(const Program& program, mpc_session_options_t options = {}) {
    options.struct_size = sizeof(options);
    mpc_session_t* session;
    mpc_status_t status = mpc_session_create(program.get(), &options, &session);
    if (!status) session_.reset(session);
    return status;
  }

  Status step(const std::vector<mpc_tensor_t>& inputs, mpc_step_info_t* info) {
    info->struct_size = sizeof(*info);
    return mpc_session_step(get(), inputs.data(), inputs.size(), info);
  }
  Status synchronize(mpc_step_info_t* info) {
    info->struct_size = sizeof(*info);
    return mpc_session_synchronize(get(), info);
  }
  Status finish_update(mpc_step_info_t* info) {
    info->struct_size = sizeof(*info);
    return mpc_session_finish_update(get(), info);
  }
  std::string device() const { return mpc_session_device(get()); }
  std::vector<mpc_kernel_info_t> kernels() const {
    std::vector<mpc_kernel_info_t> all(mpc_session_num_kernels(get()));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].struct_size = sizeof(all[i]);
      // Cannot fail: `i` is in range.
      Status known(mpc_session_kernel_info(get(), i, &all[i]));
    }
    return all;
  }
  Status run(const char* entry, const std::vector<mpc_tensor_t>& inputs,
             const std::vector<mpc_tensor_t>& outputs) {
    return mpc_session_run(get(), entry, inputs.data(), inputs.size(),
                           outputs.data(), outputs.size());
  }
  // Zero `*metrics` before the first batch.
  Status evaluate(const std::vector<mpc_tensor_t>& inputs, size_t num_valid,
                  mpc_metrics_t* metrics) {
    metrics->struct_size = sizeof(*metrics);
    return mpc_session_evaluate(get(), inputs.data(), inputs.size(), num_valid,
                                metrics);
  }
  // Without `options`: no timeline.
  Status profile_start(mpc_profile_options_t options = {}) {
    options.struct_size = sizeof(options);
    return mpc_session_profile_start(get(), &options);
  }
  Status profile_stop() { return mpc_session_profile_stop(get()); }
  // The records of the profile that has stopped; none if there is no profile.
  std::vector<mpc_profile_record_t> profile_records() const {
    mpc_profile_info_t info = {};
    info.struct_size = sizeof(info);
    mpc_status_free(mpc_session_profile_info(get(), &info));
    std::vector<mpc_profile_record_t> records(info.num_records);
    for (size_t i = 0; i < records.size(); ++i) {
      records[i].struct_size = sizeof(records[i]);
      // Cannot fail: `i` is in range.
      mpc_status_free(mpc_session_profile_record(get(), i, &records[i]));
    }
    return records;
  }
  Status profile_trace(std::string* trace) const {
    char* text;
    mpc_status_t status = mpc_session_profile_trace(get(), &text);
    if (status) return status;
    *trace = text;
    mpc_string_free(text);
    return nullptr;
  }
  Status read_state(const char* name, const mpc_tensor_t& tensor) const {
    return mpc_session_read_state(get(), name, &tensor);
  }
  Status write_state(const char* name, const mpc_tensor_t& tensor) {
    return mpc_session_write_state(get(), name, &tensor);
  }
  // Only on the CPU.
  Status state_memory(const char* name, mpc_tensor_t* tensor) {
    tensor->struct_size = sizeof(*tensor);
    return mpc_session_state_memory(get(), name, tensor);
  }
  Status set_property(const char* name, const std::string& value) {
    return mpc_session_set_property(get(), name, value.c_str());
  }
  // "" if there is no such property.
  std::string property(const char* name) const {
    const char* value = mpc_session_get_property(get(), name);
    return value ? value : "";
  }
  Status save_checkpoint(const std::string& path) const {
    return mpc_session_save_checkpoint(get(), path.c_str());
  }
  Status load_checkpoint(const std::string& path) {
    return mpc_session_load_checkpoint(get(), path.c_str());
  }
  // `*path` is empty if the folder has no checkpoint.
  Status load_latest(const std::string& folder, std::string* path,
                     std::string* warning) {
    char* found;
    char* passed_over;
    mpc_status_t status =
        mpc_session_load_latest(get(), folder.c_str(), &found, &passed_over);
    if (status) return status;
    *path = found ? found : "";
    *warning = passed_over ? passed_over : "";
    mpc_string_free(found);
    mpc_string_free(passed_over);
    return nullptr;
  }
  mpc_session_t* get() const { return session_.get(); }

 private:
  struct Destroy {
    void operator()(mpc_session_t* session) const {
      mpc_session_destroy(session);
    }
  };
  std::unique_ptr<mpc_session_t, Destroy> session_;
};

}  // namespace mpc

#endif  // MPC_RUNTIME_HPP_
