//===- TrainerApi.cpp - mpc_trainer_* -------------------------------------===//

#include "tools/mpc/base/Text.h"
#include "tools/mpc/library/DatasetObject.h"
#include "tools/mpc/library/OptionValues.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/training/ranks/RankGroup.h"

#include "runtime/src/base/guard.h"

#include <atomic>
#include <cmath>
#include <cstdlib>

using namespace mpc::tool;

static_assert(std::atomic<bool>::is_always_lock_free,
              "signal handlers may stop trainers");

struct mpc_trainer_s : TrainObserver {
  mpc_trainer_s(const mpc_program_t *program, const mpc_dataset_t *data,
                const mpc_dataset_t *evalData,
                const mpc_train_options_t *options);

  /// Runs a function of the trainer; after an error, training cannot continue.
  template <typename Train> void train(Train run, mpc_trainer_info_t *out_info);
  void requireIntact() const;
  void rememberMetrics(const Evaluation &evaluation);

  const char *stopReason() const override {
    return stops ? "mpc_trainer_stop" : nullptr;
  }

  MessageHandler messages;
  std::atomic<bool> stops = false;
  std::string failure;            ///< The error of an earlier call.
  std::optional<RankGroup> ranks; ///< None: this process is alone.
  TrainOptions options;
  Program program;
  std::unique_ptr<MetricSet> metrics;
  std::unique_ptr<Dataset> data, evalData;
  std::optional<Trainer> trainer;
  mpc_trainer_info_t info = {};
  std::vector<std::pair<std::string, double>> values; ///< Those of metrics.

private:
  void stepped(const mpc_step_info_t &step, double loss) override;
  void evaluated(const Evaluation &evaluation,
                 const nlohmann::ordered_json &) override;
  void saved() override { info.saved = 1; }
  void printLine(const ProgressState &state) override {
    messages.send(MPC_MESSAGE_PROGRESS, formatProgressLine(state));
  }
};

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

/// Throws if options of the trainer are about data, which has been opened with
/// others.
static void requireSameData(const DataOptions &options,
                            const DataOptions &opened) {
  for (auto [differs, name] :
       {std::pair(!options.maps.empty() && options.maps != opened.maps, "map"),
        std::pair(!options.scales.empty() && options.scales != opened.scales,
                  "scale"),
        std::pair(!options.normalizations.empty() &&
                      options.normalizations != opened.normalizations,
                  "normalize"),
        std::pair(options.stride && options.stride != opened.stride, "stride"),
        std::pair(options.labelShift && options.labelShift != opened.labelShift,
                  "label-shift"),
        std::pair(!options.augment.empty() && options.augment != opened.augment,
                  "augment")})
    if (differs)
      throw Failure(Usage, std::string("option '") + name +
                               "' differs from the one that 'data' was opened "
                               "with; pass the same options to both");
}

/// Throws unless a dataset can be used with this program.
static void requireFor(const mpc_program_t *program,
                       const mpc_dataset_t *dataset, const char *name) {
  if (dataset->program != program)
    throw Failure(Usage, std::string("'") + name +
                             "' was opened for another program; open it for "
                             "the one of the trainer");
}

/// Throws if both have names of classes, with other numbers.
static void requireSameClasses(const Dataset &data, const Dataset &evalData) {
  for (const auto &[input, names] : evalData.classes())
    if (auto found = data.classes().find(input);
        found != data.classes().end() && found->second != names)
      throw Failure(Usage, evalData.path + ": the classes of '" + input +
                               "' differ from those of " + data.path +
                               ", so their numbers do, too; use option "
                               "'eval-data' instead, which takes the numbers "
                               "of the training data");
}

/// Throws unless a program can be trained by several ranks.
static void requireDataParallel(const Program &program) {
  if (program.option("data-parallel").empty())
    throw Failure(Usage, "the program was compiled for one process, but the "
                         "communicator has several ranks; compile the model "
                         "with option 'data-parallel'");
}

mpc_trainer_s::mpc_trainer_s(const mpc_program_t *program,
                             const mpc_dataset_t *given,
                             const mpc_dataset_t *givenEval,
                             const mpc_train_options_t *values)
    : options(values ? values->values.parse() : TrainOptions()),
      program(program, "the program") {
  if (values)
    messages = values->messages;
  if (values && values->communicator.size > 1) {
    options.ranks = &ranks.emplace(values->communicator);
    requireDataParallel(this->program);
    if (options.session.threads == 0 && !std::getenv("OMP_NUM_THREADS"))
      options.session.threads = RankGroup::shareOfCpus();
  }
  requireFor(program, given, "data");
  if (givenEval) {
    requireFor(program, givenEval, "eval_data");
    if (options.hasEvaluation())
      throw Failure(Usage, "--eval-data, --eval-split and the argument "
                           "'eval_data' cannot be combined");
    options.evalData = givenEval->data->path;
  }
  requireSameData(options.data, given->from);
  options.finish();
  options.finishRanks();
  const std::vector<Binding> inputs =
      this->program.inputs(this->program.stepEntry());
  options.checkProgram(this->program);
  const DataOptions evaluated = givenEval ? givenEval->from
                                : options.evalData.empty()
                                    ? given->from
                                    : given->from.with(options.evalData);
  metrics = makeMetrics(options, this->program, evaluated);
  data = given->data->view(inputs);
  if (givenEval) {
    requireSameClasses(*data, *givenEval->data);
    evalData = givenEval->data->view(metrics->inputs());
    metrics->checkData(*evalData);
  } else {
    evalData = openEvaluationData(options, metrics.get(), evaluated, *data);
  }
  chooseBatchSizes(options, this->program, *data, evalData.get(),
                   metrics.get());
  trainer.emplace(options, this->program, *data, evalData.get(), *this,
                  metrics.get());
}

mpc_status_t mpc_trainer_create(const mpc_program_t *program,
                                const mpc_dataset_t *data,
                                const mpc_dataset_t *eval_data,
                                const mpc_train_options_t *options,
                                mpc_trainer_t **out_trainer) {
  MessageHandler messages = options ? options->messages : MessageHandler();
  return runApi(messages, [&] {
    requireArgument(program, "program");
    requireArgument(data, "data");
    requireArgument(out_trainer, "out_trainer");
    *out_trainer = new mpc_trainer_s(program, data, eval_data, options);
  });
}

void mpc_trainer_destroy(mpc_trainer_t *trainer) { delete trainer; }

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

void mpc_trainer_s::stepped(const mpc_step_info_t &step, double loss) {
  info.loss = static_cast<float>(loss);
  info.loss_scale = step.loss_scale;
  info.grad_norm = step.grad_norm;
  info.learning_rate = step.learning_rate;
  info.skipped = step.skipped;
}

void mpc_trainer_s::evaluated(const Evaluation &evaluation,
                              const nlohmann::ordered_json &) {
  info.evaluated = 1;
  rememberMetrics(evaluation);
}

void mpc_trainer_s::rememberMetrics(const Evaluation &evaluation) {
  std::vector<std::string> names = {"loss", "accuracy", "perplexity"};
  for (const MetricResult &metric : evaluation.metrics)
    if (metric.value.matrix.empty())
      names.push_back(metric.key);
  values.clear();
  for (const std::string &name : names)
    if (std::optional<double> value = evaluation.valueOf(name))
      values.emplace_back(name, *value);
}

void mpc_trainer_s::requireIntact() const {
  if (!failure.empty())
    throw Failure(Usage, "an earlier call has failed, so training cannot "
                         "continue (" +
                             failure +
                             "); create a trainer that resumes from the last "
                             "checkpoint");
}

template <typename Train>
void mpc_trainer_s::train(Train run, mpc_trainer_info_t *out_info) {
  requireIntact();
  if (out_info) // Before anything changes.
    check(mpc::runtime::copy_out(mpc_trainer_info_t(), out_info));
  const bool wasDone = trainer->hasEnded();
  const uint64_t before = trainer->stepsDone();
  info = {};
  try {
    run();
  } catch (const std::exception &error) {
    failure = error.what();
    throw;
  }
  info.step = trainer->stepsDone();
  info.total_steps = trainer->totalSteps();
  info.epoch = trainer->currentEpoch();
  info.done = trainer->hasEnded();
  info.ends_epoch = info.step > before && trainer->isBetweenEpochs();
  if (info.done && !wasDone)
    messages.send(MPC_MESSAGE_SUMMARY, trainer->summary());
  if (out_info)
    check(mpc::runtime::copy_out(info, out_info));
}

mpc_status_t mpc_trainer_step(mpc_trainer_t *trainer,
                              mpc_trainer_info_t *out_info) {
  MessageHandler none;
  return runApi(trainer ? trainer->messages : none, [&] {
    requireArgument(trainer, "trainer");
    trainer->train([&] { trainer->trainer->stepOnce(); }, out_info);
  });
}

mpc_status_t mpc_trainer_run(mpc_trainer_t *trainer,
                             mpc_trainer_info_t *out_info) {
  MessageHandler none;
  return runApi(trainer ? trainer->messages : none, [&] {
    requireArgument(trainer, "trainer");
    trainer->train([&] { trainer->trainer->run(); }, out_info);
    trainer->stops = false;
  });
}

void mpc_trainer_stop(mpc_trainer_t *trainer) {
  if (trainer)
    trainer->stops = true;
}

//===----------------------------------------------------------------------===//
// Between steps
//===----------------------------------------------------------------------===//

mpc_status_t mpc_trainer_evaluate(mpc_trainer_t *trainer) {
  MessageHandler none;
  return runApi(trainer ? trainer->messages : none, [&] {
    requireArgument(trainer, "trainer");
    trainer->rememberMetrics(trainer->trainer->evaluateWeights());
  });
}

size_t mpc_trainer_num_metrics(const mpc_trainer_t *trainer) {
  return trainer ? trainer->values.size() : 0;
}

const char *mpc_trainer_metric_name(const mpc_trainer_t *trainer,
                                    size_t index) {
  return trainer && index < trainer->values.size()
             ? trainer->values[index].first.c_str()
             : nullptr;
}

mpc_status_t mpc_trainer_metric(const mpc_trainer_t *trainer, const char *name,
                                double *out_value) {
  MessageHandler none;
  return runApi(none, [&] {
    requireArgument(trainer, "trainer");
    requireArgument(name, "name");
    requireArgument(out_value, "out_value");
    std::vector<std::string> names;
    for (const auto &[known, value] : trainer->values) {
      names.push_back(known);
      if (known != name)
        continue;
      *out_value = value;
      return;
    }
    throw Failure(Usage, std::string("there is no metric '") + name + "'; " +
                             (names.empty() ? "nothing has been evaluated yet"
                                            : "there is " + joinWords(names)));
  });
}

mpc_status_t mpc_trainer_save(mpc_trainer_t *trainer) {
  MessageHandler none;
  return runApi(trainer ? trainer->messages : none, [&] {
    requireArgument(trainer, "trainer");
    trainer->requireIntact();
    if (trainer->options.checkpointDir.empty())
      throw Failure(Usage, "there is no folder for checkpoints; use "
                           "--checkpoint-dir");
    trainer->trainer->saveCheckpoint();
  });
}

const char *mpc_trainer_checkpoint(const mpc_trainer_t *trainer) {
  return trainer ? trainer->trainer->checkpoint().c_str() : "";
}

mpc_session_t *mpc_trainer_session(mpc_trainer_t *trainer) {
  return trainer ? trainer->trainer->currentSession().get() : nullptr;
}
