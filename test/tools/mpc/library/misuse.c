// Every way to misuse the library has a status and a message.
#include <stdio.h>
#include <string.h>

#include "driver.h"

static void print(const char *what, mpc_status_t status) {
  printf("%s: %d: %s\n", what, mpc_status_code(status),
         mpc_status_message(status));
  mpc_status_free(status);
}

static mpc_status_t read_nothing(void *user, const uint64_t *samples,
                                 size_t num_samples,
                                 const mpc_tensor_t *tensors,
                                 size_t num_tensors) {
  (void)user, (void)samples, (void)num_samples, (void)tensors;
  (void)num_tensors;
  return NULL;
}

static mpc_status_t add_nothing(void *user, void *data, const uint64_t *offsets,
                                mpc_dtype_t dtype) {
  (void)user, (void)data, (void)offsets, (void)dtype;
  return NULL;
}

static mpc_status_t gather_nothing(void *user, void *data,
                                   const uint64_t *offsets) {
  (void)user, (void)data, (void)offsets;
  return NULL;
}

static void abort_nothing(void *user, const char *reason) {
  (void)user, (void)reason;
}

static mpc_communicator_t make_communicator(void) {
  const mpc_communicator_t made = {.struct_size = sizeof(made),
                                   .size = 2,
                                   .reduce_scatter = add_nothing,
                                   .all_gather = gather_nothing,
                                   .abort = abort_nothing};
  return made;
}

static void misuse_communicators(mpc_train_options_t *options) {
  mpc_communicator_t bad = make_communicator();
  print("communicator of NULL", mpc_train_options_set_communicator(NULL, &bad));
  bad.struct_size = 0;
  print("communicator without size",
        mpc_train_options_set_communicator(options, &bad));
  bad = make_communicator();
  bad.rank = 2;
  print("rank 2", mpc_train_options_set_communicator(options, &bad));
  bad = make_communicator();
  bad.abort = NULL;
  print("abort NULL", mpc_train_options_set_communicator(options, &bad));
  check(mpc_train_options_set_communicator(options, NULL));
}

static void misuse_options(void) {
  static const char *const settings[][2] = {
      {"epoch", "3"},       {"--epochs", "3"}, {"epochs", "0"},
      {"epochs", "three"},  {"epochs", ""},    {"json", "yes"},
      {"data", "x.npz"},    {"profile", "x"},  {"no-shuffle", "perhaps"},
      {"sampling", "none"}, {"lr", "-1"},      {"eval-split", "2"},
      {"on-nan", "cry"},    {"device", "tpu"}, {"", "3"}};
  mpc_train_options_t *options;
  print("options", mpc_train_options_create(NULL));
  check(mpc_train_options_create(&options));
  for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); ++i) {
    char what[64];
    snprintf(what, sizeof(what), "set %s=%s", settings[i][0], settings[i][1]);
    print(what, mpc_train_options_set(options, settings[i][0], settings[i][1]));
  }
  print("set NULL", mpc_train_options_set(NULL, "lr", "1"));
  print("set name NULL", mpc_train_options_set(options, NULL, "1"));
  print("set value NULL", mpc_train_options_set(options, "lr", NULL));
  mpc_train_options_set_handler(NULL, NULL, NULL);
  misuse_communicators(options);
  mpc_train_options_destroy(options);
  mpc_train_options_destroy(NULL);
}

static void misuse_datasets(const mpc_program_t *program, const char *path) {
  const int64_t shape[2] = {4, 3}, negative[1] = {-1};
  float values[12] = {0};
  const char *const names[2] = {"images", "images"};
  const char *const unnamed[1] = {NULL};
  const mpc_tensor_t *read;
  mpc_tensor_t tensors[2], bad;
  mpc_dataset_callbacks_t callbacks = {.struct_size = sizeof(callbacks)};
  mpc_train_options_t *options;
  mpc_dataset_t *data = NULL;
  uint64_t samples[65] = {0};
  size_t count;
  memset(tensors, 0, sizeof(tensors));
  tensors[0].struct_size = sizeof(mpc_tensor_t);
  tensors[0].dtype = MPC_DTYPE_F32, tensors[0].rank = 2;
  tensors[0].shape = shape, tensors[0].data = values;
  tensors[1] = tensors[0];
  print("open NULL", mpc_dataset_open(NULL, NULL, path, NULL, &data));
  print("open no path", mpc_dataset_open(program, NULL, NULL, NULL, &data));
  print("open out NULL", mpc_dataset_open(program, NULL, path, NULL, NULL));
  print("open entry", mpc_dataset_open(program, "improve", path, NULL, &data));
  print("open missing",
        mpc_dataset_open(program, NULL, "missing.npz", NULL, &data));
  print("names NULL",
        mpc_dataset_from_arrays(program, NULL, NULL, tensors, 1, NULL, &data));
  print("name NULL", mpc_dataset_from_arrays(program, NULL, unnamed, tensors, 1,
                                             NULL, &data));
  print("same names",
        mpc_dataset_from_arrays(program, NULL, names, tensors, 2, NULL, &data));
  print("wrong shape",
        mpc_dataset_from_arrays(program, NULL, names, tensors, 1, NULL, &data));
  bad = tensors[0], bad.struct_size = 0;
  print("no size",
        mpc_dataset_from_arrays(program, NULL, names, &bad, 1, NULL, &data));
  bad = tensors[0], bad.device.kind = MPC_DEVICE_CUDA;
  print("not host",
        mpc_dataset_from_arrays(program, NULL, names, &bad, 1, NULL, &data));
  bad = tensors[0], bad.data = NULL;
  print("no data",
        mpc_dataset_from_arrays(program, NULL, names, &bad, 1, NULL, &data));
  bad = tensors[0], bad.rank = 1, bad.shape = negative;
  print("negative",
        mpc_dataset_from_arrays(program, NULL, names, &bad, 1, NULL, &data));
  bad = tensors[0], bad.dtype = MPC_DTYPE_F8E4M3;
  print("fp8",
        mpc_dataset_from_arrays(program, NULL, names, &bad, 1, NULL, &data));
  print("callbacks NULL",
        mpc_dataset_from_callbacks(program, NULL, NULL, NULL, &data));
  print("read NULL",
        mpc_dataset_from_callbacks(program, NULL, &callbacks, NULL, &data));
  check(mpc_train_options_create(&options));
  check(mpc_train_options_set(options, "scale", "1/255"));
  callbacks.read = read_nothing;
  print("scaled callbacks",
        mpc_dataset_from_callbacks(program, NULL, &callbacks, options, &data));
  callbacks.struct_size = 0;
  print("callbacks without size",
        mpc_dataset_from_callbacks(program, NULL, &callbacks, NULL, &data));
  mpc_train_options_destroy(options);

  check(mpc_dataset_open(program, NULL, path, NULL, &data));
  samples[0] = mpc_dataset_num_samples(data);
  print("read NULL", mpc_dataset_read(NULL, samples, 1, &read, &count));
  print("read none", mpc_dataset_read(data, samples, 0, &read, &count));
  print("read many", mpc_dataset_read(data, samples, 65, &read, &count));
  print("read beyond", mpc_dataset_read(data, samples, 1, &read, &count));
  printf("of NULL: %d %d\n", (int)mpc_dataset_num_samples(NULL),
         (int)mpc_dataset_batch_size(NULL));
  mpc_dataset_destroy(data);
  mpc_dataset_destroy(NULL);
}

// Prints what happens with an option; data is opened without it.
static void create_with(const mpc_program_t *program, const mpc_dataset_t *data,
                        const mpc_dataset_t *eval_data, const char *name,
                        const char *value) {
  mpc_train_options_t *options;
  mpc_trainer_t *trainer;
  char what[64];
  snprintf(what, sizeof(what), "create %s", name);
  check(mpc_train_options_create(&options));
  check(mpc_train_options_set(options, name, value));
  print(what, mpc_trainer_create(program, data, eval_data, options, &trainer));
  mpc_train_options_destroy(options);
}

static void create_on_ranks(const mpc_program_t *program,
                            const mpc_dataset_t *data) {
  const mpc_communicator_t communicator = make_communicator();
  mpc_train_options_t *options;
  mpc_trainer_t *trainer;
  check(mpc_train_options_create(&options));
  check(mpc_train_options_set_communicator(options, &communicator));
  print("create ranks",
        mpc_trainer_create(program, data, NULL, options, &trainer));
  mpc_train_options_destroy(options);
}

static void misuse_trainers(const mpc_program_t *program,
                            const mpc_program_t *other, const char *path,
                            const char *arrays) {
  mpc_trainer_info_t info = {0};
  mpc_trainer_t *trainer;
  mpc_dataset_t *broken;
  mpc_dataset_t *data;
  double value;
  check(mpc_dataset_open(program, NULL, path, NULL, &data));
  print("program NULL", mpc_trainer_create(NULL, data, NULL, NULL, &trainer));
  print("data NULL", mpc_trainer_create(program, NULL, NULL, NULL, &trainer));
  print("out NULL", mpc_trainer_create(program, data, NULL, NULL, NULL));
  print("other program", mpc_trainer_create(other, data, NULL, NULL, &trainer));
  create_on_ranks(program, data);
  create_with(program, data, NULL, "resume", "yes");
  create_with(program, data, NULL, "patience", "3");
  create_with(program, data, NULL, "scale", "1/255");
  create_with(program, data, data, "eval-split", "0.1");
  create_with(program, data, data, "metrics", "f2");

  check(mpc_trainer_create(program, data, NULL, NULL, &trainer));
  print("info without size", mpc_trainer_step(trainer, &info));
  print("evaluate", mpc_trainer_evaluate(trainer));
  print("metric", mpc_trainer_metric(trainer, "loss", &value));
  print("save", mpc_trainer_save(trainer));
  mpc_trainer_destroy(trainer);
  check(mpc_trainer_create(program, data, data, NULL, &trainer));
  check(mpc_trainer_evaluate(trainer));
  print("other metric", mpc_trainer_metric(trainer, "f1", &value));
  print("no value", mpc_trainer_metric(trainer, "loss", NULL));
  printf("names: %s %s %d\n", mpc_trainer_metric_name(trainer, 1),
         mpc_trainer_metric_name(trainer, 2) ? "" : "NULL",
         (int)mpc_trainer_num_metrics(trainer));
  mpc_trainer_destroy(trainer);

  broken = open_data(program, NULL, "broken", arrays, NULL);
  check(mpc_trainer_create(program, broken, NULL, NULL, &trainer));
  print("broken", mpc_trainer_step(trainer, NULL));
  print("after", mpc_trainer_step(trainer, NULL));
  mpc_trainer_destroy(trainer);

  print("step NULL", mpc_trainer_step(NULL, NULL));
  print("run NULL", mpc_trainer_run(NULL, NULL));
  print("evaluate NULL", mpc_trainer_evaluate(NULL));
  print("save NULL", mpc_trainer_save(NULL));
  print("metric NULL", mpc_trainer_metric(NULL, "loss", &value));
  mpc_trainer_stop(NULL);
  mpc_trainer_destroy(NULL);
  printf("of NULL: '%s' %d\n", mpc_trainer_checkpoint(NULL),
         mpc_trainer_session(NULL) == NULL);
  mpc_dataset_destroy(broken);
  mpc_dataset_destroy(data);
}

int misuse(const char *package, const char *data, const char *arrays) {
  mpc_program_t *program, *other;
  check(mpc_program_load_file(package, &program));
  check(mpc_program_load_file(package, &other));
  misuse_options();
  misuse_datasets(program, data);
  misuse_trainers(program, other, data, arrays);
  mpc_program_destroy(other);
  mpc_program_destroy(program);
  return 0;
}
