// RAII wrappers of train.h. C++17, header only; functions return errors as
// mpc::Status.

#ifndef MPC_TRAIN_HPP_
#define MPC_TRAIN_HPP_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mpc/runtime.hpp"
#include "mpc/train.h"

namespace mpc {

// Options with their defaults until they are set.
class TrainOptions {
 public:
  Status set(const std::string& name, const std::string& value) {
    if (mpc_status_t status = create()) return status;
    return mpc_train_options_set(get(), name.c_str(), value.c_str());
  }
  // See mpc_train_options_set_handler.
  Status set_handler(mpc_message_handler_t handler, void* user) {
    if (mpc_status_t status = create()) return status;
    mpc_train_options_set_handler(get(), handler, user);
    return nullptr;
  }
  // See mpc_train_options_set_communicator.
  Status set_communicator(const mpc_communicator_t* communicator) {
    if (mpc_status_t status = create()) return status;
    return mpc_train_options_set_communicator(get(), communicator);
  }
  // NULL if nothing was set.
  mpc_train_options_t* get() const { return options_.get(); }

 private:
  mpc_status_t create() {
    mpc_train_options_t* options;
    if (options_) return nullptr;
    mpc_status_t status = mpc_train_options_create(&options);
    if (!status) options_.reset(options);
    return status;
  }
  struct Destroy {
    void operator()(mpc_train_options_t* options) const {
      mpc_train_options_destroy(options);
    }
  };
  std::unique_ptr<mpc_train_options_t, Destroy> options_;
};

// `entry` is null for training, or "evaluate" or "predict".
class Dataset {
 public:
  Status open(const Program& program, const char* entry,
              const std::string& path, const TrainOptions& options = {}) {
    mpc_dataset_t* dataset;
    return take(mpc_dataset_open(program.get(), entry, path.c_str(),
                                 options.get(), &dataset),
                &dataset);
  }
  // The elements of the tensors must outlive the dataset.
  Status from_arrays(
      const Program& program, const char* entry,
      const std::vector<std::pair<std::string, mpc_tensor_t>>& arrays,
      const TrainOptions& options = {}) {
    std::vector<const char*> names;
    std::vector<mpc_tensor_t> tensors;
    for (const auto& [name, tensor] : arrays) {
      names.push_back(name.c_str());
      tensors.push_back(tensor);
    }
    mpc_dataset_t* dataset;
    return take(mpc_dataset_from_arrays(program.get(), entry, names.data(),
                                        tensors.data(), tensors.size(),
                                        options.get(), &dataset),
                &dataset);
  }
  Status from_callbacks(const Program& program, const char* entry,
                        mpc_dataset_callbacks_t callbacks,
                        const TrainOptions& options = {}) {
    callbacks.struct_size = sizeof(callbacks);
    mpc_dataset_t* dataset;
    return take(mpc_dataset_from_callbacks(program.get(), entry, &callbacks,
                                           options.get(), &dataset),
                &dataset);
  }

  uint64_t num_samples() const { return mpc_dataset_num_samples(get()); }
  uint64_t batch_size() const { return mpc_dataset_batch_size(get()); }
  Status read(const std::vector<uint64_t>& samples,
              const mpc_tensor_t** out_tensors, size_t* out_num_tensors) {
    return mpc_dataset_read(get(), samples.data(), samples.size(), out_tensors,
                            out_num_tensors);
  }
  mpc_dataset_t* get() const { return dataset_.get(); }

 private:
  Status take(mpc_status_t status, mpc_dataset_t** dataset) {
    if (!status) dataset_.reset(*dataset);
    return status;
  }
  struct Destroy {
    void operator()(mpc_dataset_t* dataset) const {
      mpc_dataset_destroy(dataset);
    }
  };
  std::unique_ptr<mpc_dataset_t, Destroy> dataset_;
};

class Trainer {
 public:
  // `program` and the datasets must outlive the trainer.
  Status create(const Program& program, const Dataset& data,
                const TrainOptions& options = {},
                const Dataset* eval_data = nullptr) {
    mpc_trainer_t* trainer;
    mpc_status_t status = mpc_trainer_create(
        program.get(), data.get(), eval_data ? eval_data->get() : nullptr,
        options.get(), &trainer);
    if (!status) trainer_.reset(trainer);
    return status;
  }

  Status step(mpc_trainer_info_t* info) {
    info->struct_size = sizeof(*info);
    return mpc_trainer_step(get(), info);
  }
  Status run(mpc_trainer_info_t* info) {
    info->struct_size = sizeof(*info);
    return mpc_trainer_run(get(), info);
  }
  // May be called by any thread.
  void stop() { mpc_trainer_stop(get()); }
  Status evaluate() { return mpc_trainer_evaluate(get()); }
  Status metric(const std::string& name, double* value) const {
    return mpc_trainer_metric(get(), name.c_str(), value);
  }
  Status save() { return mpc_trainer_save(get()); }
  std::string checkpoint() const { return mpc_trainer_checkpoint(get()); }
  mpc_session_t* session() { return mpc_trainer_session(get()); }
  mpc_trainer_t* get() const { return trainer_.get(); }

 private:
  struct Destroy {
    void operator()(mpc_trainer_t* trainer) const {
      mpc_trainer_destroy(trainer);
    }
  };
  std::unique_ptr<mpc_trainer_t, Destroy> trainer_;
};

}  // namespace mpc

#endif  // MPC_TRAIN_HPP_
