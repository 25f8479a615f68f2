//===- DatasetApi.cpp - mpc_dataset_* -------------------------------------===//

#include "tools/mpc/base/Text.h"
#include "tools/mpc/library/DatasetObject.h"
#include "tools/mpc/library/MemorySources.h"
#include "tools/mpc/library/OptionValues.h"

#include "runtime/src/base/guard.h"

using namespace mpc::tool;

/// The inputs of an entry point, and, to evaluate, the arrays of metrics.
static std::vector<Binding> inputsOf(const Program &program, const char *entry,
                                     const TrainOptions &options,
                                     const DataOptions &from) {
  if (entry != std::string_view("evaluate"))
    return program.inputs(entry);
  return MetricSet(options.metrics, options.keepBest, program, from).inputs();
}

/// The entry point that the user names; null is that of training.
static const char *entryOf(const Program &program, const char *entry) {
  if (!entry)
    return program.stepEntry();
  if (!program.has(entry))
    throw Failure(Usage, std::string("the program has no entry point '") +
                             entry + "'; use NULL, 'evaluate' or 'predict'");
  return entry;
}

/// Makes a dataset. `prepare` sets where the data is, given the inputs of the
/// entry point.
template <typename Prepare>
static mpc_status_t makeDataset(const mpc_program_t *given,
                                const char *entryName,
                                const mpc_train_options_t *options,
                                mpc_dataset_t **out_dataset, Prepare prepare) {
  MessageHandler messages = options ? options->messages : MessageHandler();
  return runApi(messages, [&] {
    requireArgument(given, "program");
    requireArgument(out_dataset, "out_dataset");
    const TrainOptions values =
        options ? options->values.parse() : TrainOptions();
    Program program(given, "the program");
    const char *entry = entryOf(program, entryName);
    auto dataset = std::make_unique<mpc_dataset_s>();
    dataset->program = given;
    dataset->messages = messages;
    dataset->from = values.data;
    prepare(program.inputs(entry), dataset->from);
    dataset->numInputs = program.inputs(entry).size();
    if (entryName)
      dataset->data = std::make_unique<Dataset>(
          dataset->from, inputsOf(program, entry, values, dataset->from));
    else
      dataset->data = openTrainingData(program, dataset->from);
    *out_dataset = dataset.release();
  });
}

mpc_status_t mpc_dataset_open(const mpc_program_t *program, const char *entry,
                              const char *path,
                              const mpc_train_options_t *options,
                              mpc_dataset_t **out_dataset) {
  return makeDataset(program, entry, options, out_dataset,
                     [&](const std::vector<Binding> &, DataOptions &from) {
                       requireArgument(path, "path");
                       from.path = path;
                     });
}

mpc_status_t
mpc_dataset_from_arrays(const mpc_program_t *program, const char *entry,
                        const char *const *names, const mpc_tensor_t *tensors,
                        size_t num_tensors, const mpc_train_options_t *options,
                        mpc_dataset_t **out_dataset) {
  return makeDataset(program, entry, options, out_dataset,
                     [&](const std::vector<Binding> &, DataOptions &from) {
                       requireArgument(names, "names");
                       requireArgument(tensors, "tensors");
                       from.path = "arrays in memory";
                       from.open =
                           [arrays = readTensors(names, tensors, num_tensors)] {
                             return openTensors(arrays);
                           };
                     });
}

/// Throws if options ask for what `read` must do.
static void refuseConversions(const DataOptions &options) {
  for (auto [isGiven, name] :
       {std::pair(!options.maps.empty(), "map"),
        std::pair(!options.scales.empty(), "scale"),
        std::pair(!options.normalizations.empty(), "normalize"),
        std::pair(options.stride.has_value(), "stride"),
        std::pair(options.labelShift.has_value(), "label-shift")})
    if (isGiven)
      throw Failure(Usage, std::string("option '") + name +
                               "' does not apply to callbacks; let 'read' "
                               "write what the program takes");
}

mpc_status_t
mpc_dataset_from_callbacks(const mpc_program_t *program, const char *entry,
                           const mpc_dataset_callbacks_t *callbacks,
                           const mpc_train_options_t *options,
                           mpc_dataset_t **out_dataset) {
  return makeDataset(
      program, entry, options, out_dataset,
      [&](const std::vector<Binding> &inputs, DataOptions &from) {
        requireArgument(callbacks, "callbacks");
        mpc_dataset_callbacks_t copy;
        check(mpc::runtime::copy_in(callbacks, "callbacks", &copy));
        requireArgument(reinterpret_cast<const void *>(copy.read),
                        "callbacks->read");
        refuseConversions(from);
        from.path = "callbacks";
        from.open = [copy, inputs] { return openCallbacks(copy, inputs); };
      });
}

void mpc_dataset_destroy(mpc_dataset_t *dataset) { delete dataset; }

uint64_t mpc_dataset_num_samples(const mpc_dataset_t *dataset) {
  return dataset ? dataset->data->numSamples() : 0;
}

uint64_t mpc_dataset_batch_size(const mpc_dataset_t *dataset) {
  return dataset ? dataset->data->batchSize() : 0;
}

mpc_status_t mpc_dataset_read(mpc_dataset_t *dataset, const uint64_t *samples,
                              size_t num_samples,
                              const mpc_tensor_t **out_tensors,
                              size_t *out_num_tensors) {
  MessageHandler none;
  return runApi(dataset ? dataset->messages : none, [&] {
    requireArgument(dataset, "dataset");
    requireArgument(samples, "samples");
    requireArgument(out_tensors, "out_tensors");
    requireArgument(out_num_tensors, "out_num_tensors");
    Dataset &data = *dataset->data;
    if (num_samples == 0 || num_samples > data.batchSize())
      throw Failure(Usage,
                    format("a batch has 1 to %llu samples, but "
                           "num_samples is %zu",
                           static_cast<unsigned long long>(data.batchSize()),
                           num_samples));
    for (size_t i = 0; i < num_samples; ++i)
      if (samples[i] >= data.numSamples())
        throw Failure(Usage,
                      format("%s: there is no sample %llu; it has %s",
                             data.path.c_str(),
                             static_cast<unsigned long long>(samples[i]),
                             formatCount(data.numSamples(), "sample").c_str()));
    *out_tensors = data.gather({samples, samples + num_samples}).data();
    *out_num_tensors = dataset->numInputs;
  });
}
