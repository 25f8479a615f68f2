// Trains with libmpctrain, for tests:
//   mpc-train-driver steps|run|stop|own PACKAGE KIND PATH [OPTION=VALUE...]
//   mpc-train-driver ranks PACKAGE KIND PATH [OPTION=VALUE...], under mpirun
//   mpc-train-driver misuse PACKAGE PATH FOLDER
#define _POSIX_C_SOURCE 200809L
#include "driver.h"

#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static mpc_trainer_t *trainer;

// The shortest decimal of a float, as the JSON of mpc train has it.
static void print_float(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    snprintf(text, sizeof(text), "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value)
      break;
  }
  printf("%s", text);
}

static void print_metrics(void) {
  for (size_t i = 0; i < mpc_trainer_num_metrics(trainer); ++i) {
    double value;
    const char *name = mpc_trainer_metric_name(trainer, i);
    check(mpc_trainer_metric(trainer, name, &value));
    printf("%s %.6f\n", name, value);
  }
}

static void train(int by_steps) {
  mpc_trainer_info_t info = {.struct_size = sizeof(info)};
  uint64_t before = 0;
  if (!by_steps) {
    check(mpc_trainer_run(trainer, &info));
    printf("done %d after step %d of %d, ends epoch %d\n", info.done,
           (int)info.step, (int)info.total_steps, info.ends_epoch);
  }
  while (by_steps && !info.done) {
    check(mpc_trainer_step(trainer, &info));
    if (info.step == before)
      continue;
    before = info.step;
    printf("step %d ", (int)info.step);
    print_float(info.loss);
    printf("\n");
    if (info.evaluated)
      print_metrics();
  }
  if (!by_steps)
    print_metrics();
  if (*mpc_trainer_checkpoint(trainer))
    printf("checkpoint %s\n", mpc_trainer_checkpoint(trainer));
}

// What a rank does that does not print.
static void train_silently(void) {
  mpc_trainer_info_t info = {.struct_size = sizeof(info)};
  check(mpc_trainer_run(trainer, &info));
  if (!info.done)
    exit(1);
}

static void *stop_later(void *unused) {
  const struct timespec pause = {0, 200 * 1000 * 1000};
  nanosleep(&pause, NULL);
  mpc_trainer_stop(trainer);
  return unused;
}

static void stop_on_signal(int number) {
  (void)number;
  mpc_trainer_stop(trainer);
}

// Stops three runs: from a thread, from a signal handler, and before it begins.
static void stop_runs(void) {
  pthread_t thread;
  mpc_trainer_info_t first = {.struct_size = sizeof(first)}, info = first;
  if (pthread_create(&thread, NULL, stop_later, NULL))
    exit(1);
  check(mpc_trainer_run(trainer, &first));
  pthread_join(thread, NULL);
  printf("thread: done %d, saved %d\n", first.done, first.saved);
  signal(SIGALRM, stop_on_signal);
  alarm(1);
  check(mpc_trainer_run(trainer, &info));
  printf("signal: done %d, saved %d, continued %d\n", info.done, info.saved,
         info.step > first.step);
  first = info;
  mpc_trainer_stop(trainer);
  check(mpc_trainer_run(trainer, &info));
  printf("before: done %d, steps %d\n", info.done,
         (int)(info.step - first.step));
  check(mpc_trainer_step(trainer, &info));
  check(mpc_trainer_save(trainer));
}

// Evaluates by an own loop over the batches of a dataset, and by the trainer.
static void evaluate_twice(mpc_dataset_t *data) {
  mpc_metrics_t sums = {.struct_size = sizeof(sums)};
  uint64_t samples[64], count = mpc_dataset_num_samples(data);
  uint64_t batch = mpc_dataset_batch_size(data);
  double loss, accuracy;
  for (uint64_t first = 0; first < count; first += batch) {
    const mpc_tensor_t *tensors;
    size_t num_tensors, n = 0;
    while (n < batch && first + n < count)
      samples[n] = first + n, ++n;
    check(mpc_dataset_read(data, samples, n, &tensors, &num_tensors));
    check(mpc_session_evaluate(mpc_trainer_session(trainer), tensors,
                               num_tensors, n, &sums));
  }
  check(mpc_trainer_evaluate(trainer));
  check(mpc_trainer_metric(trainer, "loss", &loss));
  check(mpc_trainer_metric(trainer, "accuracy", &accuracy));
  printf("same %d, accuracy %.4f\n",
         loss == sums.loss_sum / sums.weight_sum &&
             accuracy == sums.correct / sums.counted,
         accuracy);
}

int main(int argc, char **argv) {
  mpc_program_t *program;
  mpc_train_options_t *options;
  mpc_communicator_t *communicator = NULL;
  mpc_dataset_t *data, *eval_data = NULL;
  const char *mode = argc > 4 ? argv[1] : "";
  if (!strcmp(mode, "misuse"))
    return misuse(argv[2], argv[3], argv[4]);
  if (!setlocale(LC_ALL, ""))
    exit(1);
  check(mpc_program_load_file(argv[2], &program));
  options = parse_options(argv + 5);
  if (!strcmp(mode, "ranks")) {
    check(mpc_communicator_open(60, &communicator));
    check(mpc_train_options_set_communicator(options, communicator));
  }
  data = open_data(program, NULL, argv[3], argv[4], options);
  if (!strcmp(mode, "own"))
    eval_data = open_data(program, "evaluate", argv[3], argv[4], options);
  check(mpc_trainer_create(program, data, eval_data, options, &trainer));
  mpc_train_options_destroy(options);
  if (!strcmp(mode, "stop"))
    stop_runs();
  else if (communicator && communicator->rank > 0)
    train_silently();
  else
    train(!strcmp(mode, "steps"));
  if (eval_data)
    evaluate_twice(eval_data);
  mpc_trainer_destroy(trainer);
  mpc_dataset_destroy(eval_data);
  mpc_dataset_destroy(data);
  mpc_program_destroy(program);
  mpc_communicator_close(communicator);
  return 0;
}
