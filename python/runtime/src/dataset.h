// mpc._runtime.Dataset: samples for mpc._runtime.Trainer.

#ifndef MPC_PYTHON_RUNTIME_SRC_DATASET_H_
#define MPC_PYTHON_RUNTIME_SRC_DATASET_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mpc/train.h"
#include "python/runtime/src/program.h"
#include "python/runtime/src/tensor.h"
#include "python/runtime/src/train_options.h"

namespace mpc::python {

namespace nb = nanobind;

class Dataset {
 public:
  // The data of a file; `entry` is that of mpc_dataset_open, or None.
  static Dataset open(const Program &program,
                      const std::optional<std::string> &entry,
                      const std::string &path, const TrainOptions &options);
  // Arrays by name, each with the name of its type. They are not copied.
  static Dataset from_arrays(
      const Program &program, const std::optional<std::string> &entry,
      const std::vector<std::pair<std::string, nb::object>> &arrays,
      const std::vector<std::string> &dtypes, const TrainOptions &options);
  // Calls `read(samples, arrays)`, which writes the samples of these numbers
  // into arrays, one for each input of `entry`. bf16 are arrays of uint16.
  static Dataset from_callback(const Program &program,
                               const std::optional<std::string> &entry,
                               uint64_t num_samples, nb::object read,
                               const TrainOptions &options);

  uint64_t num_samples() const {
    return mpc_dataset_num_samples(held_->dataset);
  }
  uint64_t batch_size() const { return mpc_dataset_batch_size(held_->dataset); }

  // Copies of the inputs for these samples, at most a batch, in the order of
  // the inputs. bf16 are arrays of uint16.
  nb::list read(const std::vector<uint64_t> &samples);

  // What a dataset keeps as long as a trainer uses it.
  struct Held {
    Held() = default;
    Held(const Held &) = delete;
    ~Held() { mpc_dataset_destroy(dataset); }

    mpc_dataset_t *dataset = nullptr;
    std::optional<Program> program;
    std::shared_ptr<TrainMessages> messages;
    std::vector<Tensor> arrays;
    nb::object callback;
    std::optional<nb::python_error> error;  // The one that `callback` raised.

    // Raises the error of the callback, or that of the status, and frees it.
    void check(mpc_status_t status);
  };
  const std::shared_ptr<Held> &held() const { return held_; }

 private:
  Dataset(const Program &program, const TrainOptions &options);

  std::shared_ptr<Held> held_ = std::make_shared<Held>();
};

void bind_dataset(nb::module_ &module);

}  // namespace mpc::python

#endif  // MPC_PYTHON_RUNTIME_SRC_DATASET_H_
